#!/bin/sh
# Takes the benchmark's own time out of the raw result that this trial wrote.
set -eu
. ./spec.sh
: >spec-bench/results.rsf
for file in "$SPEC_ROOT"/result/*.rsf; do
    # The suite numbers its results: what is new is this trial's.
    grep -Fqx "$(basename "$file")" spec-bench/results-before || cat "$file" >>spec-bench/results.rsf
done
awk '
    /^spec\.cpu[0-9]+\.results\.[^.]+\.base\.[0-9]+\.reported_time: / { time = $2; times++ }
    /^spec\.cpu[0-9]+\.results\.[^.]+\.base\.[0-9]+\.valid: / && $2 != "S" && $2 != "1" { bad = $2 }
    END {
        if (times != 1 || time + 0 <= 0) { print times + 0 " times in the results, not one" >"/dev/stderr"; exit 1 }
        if (bad != "") { print "the suite calls the result " bad >"/dev/stderr"; exit 1 }
        printf "{\"spec_time_s\": %s}\n", time
    }
' spec-bench/results.rsf >spec-bench/metrics.json
tar -czf spec-bench/spec-results.tar.gz -C spec-bench metrics.json results.rsf
echo spec-bench/spec-results.tar.gz
