"""Predictions for platforms, choices and rankings of machines in text, JSON and figures."""
