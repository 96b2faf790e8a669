"""A linear model in text, JSON and figures."""
