#!/bin/sh
# Hands over the metrics that the program wrote.
set -eu
cd strings-bench
tar -czf strings-results.tar.gz metrics.json
echo strings-bench/strings-results.tar.gz
