"""Trial records: the log that keeps them, whether they fit their plan, responses in them."""
