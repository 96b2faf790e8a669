#!/bin/sh
# Builds the benchmark and its CPU-bound loads from their sources.
set -eu
cd latt-bench
for name in encode idleness latt load task; do
    cc -O2 -std=gnu11 -Wall -Wextra -pthread -c "$name.c"
done
cc -pthread -o latt latt.o task.o idleness.o
cc -pthread -o encode encode.o
cc -pthread -o load load.o task.o
