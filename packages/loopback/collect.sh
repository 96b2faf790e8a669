#!/bin/sh
# Hands over the bandwidth and the individual round trips.
set -eu
cd loopback-bench
tar -czf loopback-results.tar.gz metrics.json
echo loopback-bench/loopback-results.tar.gz
