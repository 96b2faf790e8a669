"""Simulated experiments of known truth, for every interval that datamill offers."""
