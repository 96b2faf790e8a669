#!/bin/sh
# Hands over the metrics that the program wrote.
set -eu
cd sqlite-bench
tar -czf sqlite-results.tar.gz metrics.json
echo sqlite-bench/sqlite-results.tar.gz
