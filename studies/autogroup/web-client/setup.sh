#!/bin/sh
# Builds the client from its source.
set -eu
cd web-bench
cc -O2 -std=gnu11 -Wall -Wextra -o client client.c
