"""Least squares: effects on the mean."""
