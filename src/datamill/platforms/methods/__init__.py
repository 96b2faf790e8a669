"""Predictions from logarithms of times, for many applications at once; one method a file."""
