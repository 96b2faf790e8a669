"""Distributions and their variability."""
