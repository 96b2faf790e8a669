"""Dimensions of hardware in words, as JSON and as a picture."""
