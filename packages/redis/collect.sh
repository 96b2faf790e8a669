#!/bin/sh
# Names the table of redis-benchmark as metrics: requests per second and latencies of each command.
set -eu
cd redis-bench
awk -F , '
    NR == 1 { next }
    {
        gsub(/"/, "")
        name = tolower($1)
        sub(/ .*/, "", name)
        if (name !~ /^[a-z][a-z0-9_]*$/ || $2 + 0 <= 0) { print "no figure: " $0 >"/dev/stderr"; exit 1 }
        printf "%s\"%s_requests_per_s\": %s, \"%s_p50_latency_ms\": %s, \"%s_p99_latency_ms\": %s", \
            (found++ ? ", " : "{"), name, $2, name, $5, name, $7
    }
    END { if (!found) exit 1; print "}" }
' results.csv >metrics.json
tar -czf redis-results.tar.gz metrics.json results.csv
echo redis-bench/redis-results.tar.gz
