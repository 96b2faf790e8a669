#!/bin/sh
# Builds the benchmark from its sources, each on its own: calls between files stay calls, and the link has an order.
set -eu
cd fft-bench
for name in main memory plan roots scale step_back step_forth transform; do
    cc -O2 -std=gnu11 -Wall -Wextra -c "$name.c"
done
cc -o fft main.o memory.o plan.o roots.o scale.o step_back.o step_forth.o transform.o -lm
