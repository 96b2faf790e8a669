"""Collecting on a fleet: the coordinator as it is asked."""
