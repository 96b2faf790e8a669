"""Coefficients of variation in text, JSON and figures."""
