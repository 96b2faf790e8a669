"""Verbs for experiments on this machine, from a new one to its report."""
