#!/bin/sh
# Runs one benchmark once, as it was built, without reporting; `env` says which one.
set -eu
. ./spec.sh
ls "$SPEC_ROOT/result" >spec-bench/results-before 2>/dev/null || :
exec "$SPEC_TOOL" --config="$SPEC_CONFIG" --nobuild --noreportable --iterations=1 --tune=base \
    --size="${SPEC_SIZE:-test}" $SPEC_OPTIONS "$SPEC_BENCHMARK"
