"""Drift on the page."""
