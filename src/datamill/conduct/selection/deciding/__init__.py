"""Predictors learnt from a store, and what they say of commits."""
