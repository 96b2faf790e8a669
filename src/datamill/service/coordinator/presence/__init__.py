"""Which workers are there and well, and what becomes of those that are not."""
