#!/bin/sh
# Runs one stressor for a fixed time; `env` says which one, how many of it and for how long.
cd stress-ng-bench || exit 1
case ${TIMEOUT_S:-1} in
0* | *[!0-9]*) # stress-ng takes part of a second for no limit at all
    echo "TIMEOUT_S in env is $TIMEOUT_S; it must be a whole number of seconds" >&2
    exit 2
    ;;
esac
# Its temporary files belong into the trial's folder, and its log nowhere else.
exec stress-ng --"${STRESSOR:-cpu}" "${INSTANCES:-1}" ${OPTIONS:-} --timeout "${TIMEOUT_S:-1}s" --temp-path . \
    --metrics-brief --yaml results.yaml --no-rand-seed
