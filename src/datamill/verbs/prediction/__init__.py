"""The verb on levels that were not measured, and how its points are read."""
