"""Models of a response: the largest that the data allow, and the one with blocks."""
