#!/bin/sh
# Transforms a signal forth and back; `env` says how long it is and how often, unless the experiment does.
cd fft-bench || exit 1
exec ./fft "${POINTS:-16384}" "${TRANSFORMS:-2000}" "${BATCH:-20}" "${ALLOCATE:-0}"
