"""Numbers from which classifiers learn."""
