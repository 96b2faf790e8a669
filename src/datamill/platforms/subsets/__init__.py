"""Which predictors a linear model takes: exhaustive search, criteria, and steps forward and backward."""
