"""Nested variances in text, JSON and figures."""
