"""Quantile regression: effects on any quantile."""
