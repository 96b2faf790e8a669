#!/bin/sh
# Builds the benchmark, linked to the C library dynamically, so that another allocator can be loaded before it. The
# calls stay calls: neither the compiler's own versions of the functions nor the checked ones take their place.
set -eu
cd strings-bench
for name in heap main texts; do
    cc -O2 -std=gnu11 -fno-builtin -U_FORTIFY_SOURCE -Wall -Wextra -pthread -c "$name.c"
done
cc -pthread -o strings heap.o main.o texts.o -lm
