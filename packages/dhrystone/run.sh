#!/bin/sh
# Measures the mix; `env` says how often it is repeated.
cd dry || exit 1
exec ./dry "${ITERATIONS:-20000000}"
