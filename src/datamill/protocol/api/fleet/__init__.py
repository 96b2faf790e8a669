"""Machines, factors and the queue."""
