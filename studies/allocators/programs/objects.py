"""Listing 2.2: consecutive appends of a bytearray of 256 bytes, so many as the argument says."""

import sys

size = int(sys.argv[1])
mylist = []
for _ in range(size):
    mylist.append(bytearray(256))
