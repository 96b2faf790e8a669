#!/bin/sh
# The program compiles itself; all that there is to do is to make it executable (papers, listing 1).
set -eu
chmod +x dry/dry.c
sh dry/dry.c
