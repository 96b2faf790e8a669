#!/bin/sh
# Builds the program.
set -eu
cc -O2 -std=gnu11 -Wall -Wextra -o member member.c
