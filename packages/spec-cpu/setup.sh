#!/bin/sh
# Builds one benchmark with the installed suite's own tools and the user's configuration.
set -eu
. ./spec.sh
"$SPEC_TOOL" --config="$SPEC_CONFIG" --action=build --tune=base $SPEC_OPTIONS "$SPEC_BENCHMARK"
