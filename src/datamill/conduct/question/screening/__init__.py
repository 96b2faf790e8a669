"""A screening that comes first, and the question that follows it."""
