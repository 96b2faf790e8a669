#!/bin/sh
# Builds the server and its load generator with Redis' own Makefile, with the C library's allocator, linked
# dynamically, so that another allocator can be loaded before it.
set -eu
cd redis-bench/source/src
make CC=cc OPTIMIZATION=-O2 MALLOC=libc BUILD_TLS=no USE_SYSTEMD=no redis-server redis-benchmark
test -x redis-server
test -x redis-benchmark
