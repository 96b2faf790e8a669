"""The three steps to a new experiment."""
