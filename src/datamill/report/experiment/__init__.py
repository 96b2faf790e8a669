"""The report of an experiment: one page."""
