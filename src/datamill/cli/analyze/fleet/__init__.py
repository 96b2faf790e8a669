"""Verbs of the analysis on experiments of a coordinator, which answers."""
