"""Predictors that have learnt, as records; they score without numpy, which loads slowly."""
