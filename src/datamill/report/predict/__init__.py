"""Predictions as a statement, as JSON and as a picture."""
