"""From a table to the observations and terms of a model."""
