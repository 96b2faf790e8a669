#!/bin/sh
# Takes the figures of the stressor out of stress-ng's own report.
set -eu
cd stress-ng-bench
awk '
    $1 == "bogo-ops:" { ops = $2 }
    $1 == "bogo-ops-per-second-real-time:" { real = $2 }
    $1 == "bogo-ops-per-second-usr-sys-time:" { cpu = $2 }
    END {
        if (ops == "" || real + 0 <= 0) { print "stress-ng reported no operations" >"/dev/stderr"; exit 1 }
        printf "{\"bogo_ops\": %s, \"bogo_ops_per_s\": %s, \"bogo_ops_per_cpu_s\": %s}\n", ops, real, cpu
    }
' results.yaml >metrics.json
tar -czf stress-ng-results.tar.gz metrics.json results.yaml
echo stress-ng-bench/stress-ng-results.tar.gz
