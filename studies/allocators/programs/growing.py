"""Listing 2.7: ten thousand appends."""

size = 10000
l = []
for i in range(size):
    l.append(i)
