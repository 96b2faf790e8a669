"""Predictors that have learnt, as records that are kept in files; they score without numpy, which loads slowly."""
