#!/bin/sh
# Measures latencies for as long as the command in LOAD runs; `env` says what the variables mean.
cd latt-bench || exit 1
exec ./latt -c "${CLIENTS:-8}" -b "${WORK_BYTES:-65536}" \
    -f "${MIN_INTERVAL_US:-1000}" -t "${MAX_INTERVAL_US:-19000}" -n "${MAX_WAKEUPS:-100000}" \
    -w "${OBSERVER:-}" -i "${IDLENESS:-0}" -o metrics.json sh -c "${LOAD:-sleep 2}"
