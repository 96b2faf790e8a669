"""A submission as its command and others show and send it."""
