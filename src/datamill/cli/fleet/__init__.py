"""Verbs for experiments on a fleet and its machines."""
