#!/bin/sh
# Builds the benchmark from its sources.
set -eu
cd fft-bench
for name in main memory transform; do
    cc -O2 -std=gnu11 -Wall -Wextra -c "$name.c"
done
cc -o fft main.o memory.o transform.o -lm
