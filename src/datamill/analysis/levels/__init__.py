"""Means of packages and of a factor's levels, and the changes between them."""
