"""Packages of the store: who sees which, what is in them, which experiments used them."""
