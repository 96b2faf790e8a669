"""Figures of predictions, rankings and choices."""
