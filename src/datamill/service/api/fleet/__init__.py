"""Machines, factors, the queue, and the results of all experiments, over the API."""
