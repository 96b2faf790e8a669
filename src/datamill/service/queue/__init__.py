"""The queue as people and programs see it."""
