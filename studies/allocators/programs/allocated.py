"""Listing 2.8: the same with all its room asked for at once."""

size = 10000
items = [None] * size
for i in range(size):
    items[i] = i
