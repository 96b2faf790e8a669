#!/bin/sh
# Builds the server from its source.
set -eu
cd web-bench
cc -O2 -std=gnu11 -Wall -Wextra -o server server.c
