"""Machines, factors and the queue, over the API."""
