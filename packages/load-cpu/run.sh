#!/bin/sh
# Compresses the same text again and again, in as many processes as THREADS says, until it is stopped.
set -eu
seq 1 300000 >load-cpu.txt
threads=${THREADS:-0}
[ "$threads" != 0 ] || threads=$(getconf _NPROCESSORS_ONLN)
while [ "$threads" -gt 0 ]; do
    while :; do gzip -c <load-cpu.txt >/dev/null; done &
    threads=$((threads - 1))
done
wait
