#!/bin/sh
# Builds bzip2 from its upstream source tree with its own Makefile.
set -eu
cd bzip2-bench/source
make CC=cc bzip2
test -x bzip2
