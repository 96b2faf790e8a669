"""Answers of one analysis for several levels, put together."""
