"""Pages: of an experiment, and of a single analysis."""
