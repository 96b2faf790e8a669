#!/bin/sh
# Builds the benchmark from its sources.
set -eu
cd loopback-bench
for name in client main server transfer; do
    cc -O2 -std=gnu11 -Wall -Wextra -pthread -c "$name.c"
done
cc -pthread -o loopback client.o main.o server.o transfer.o
