#!/bin/sh
# Builds the program. The compiler is found through PATH: datamill puts its wrapper there.
set -e
cc -O2 -o sort-numbers sort-numbers.c
