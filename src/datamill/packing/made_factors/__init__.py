"""Factors that are written from what an experiment file says of them."""
