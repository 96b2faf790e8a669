"""Factors: the catalogue, their levels, and what a host offers of them."""
