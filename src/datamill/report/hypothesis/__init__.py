"""What the data say of an experiment's hypothesis: in words, and as JSON."""
