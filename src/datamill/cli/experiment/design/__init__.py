"""A design in words for the terminal."""
