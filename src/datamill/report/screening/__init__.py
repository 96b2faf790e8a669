"""A screening on the page."""
