#!/bin/sh
# Hands over the time of each call.
set -eu
cd rpc-bench
tar -czf rpc-results.tar.gz metrics.json
echo rpc-bench/rpc-results.tar.gz
