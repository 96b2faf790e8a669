"""Experiments from their submission to their end."""
