#!/bin/sh
# Measures the mix; `env` says how often it is repeated, unless the experiment does.
cd dry || exit 1
exec ./dry "${ITERATIONS:-20000000}" "${BATCH:-200000}"
