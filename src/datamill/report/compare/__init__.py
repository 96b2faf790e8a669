"""Versions compared, in text, JSON and figures."""
