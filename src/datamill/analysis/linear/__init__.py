"""Least squares: effects on the mean, and whether its assumptions hold."""
