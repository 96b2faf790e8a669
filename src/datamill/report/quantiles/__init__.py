"""Quantile regression in text, JSON and a figure."""
