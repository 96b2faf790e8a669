"""Listing 2.7: ten thousand appends."""

size = 10000
items = []
for i in range(size):
    items.append(i)
