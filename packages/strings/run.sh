#!/bin/sh
# Measures texts, then patterns of malloc and free, in several threads; `env` says how much.
cd strings-bench || exit 1
exec ./strings "${OPERATIONS:-250000}" "${BATCH:-2500}" "${THREADS:-2}"
