#!/bin/sh
# Hands over the metrics that the program wrote.
set -eu
cd fft-bench
tar -czf fft-results.tar.gz metrics.json
echo fft-bench/fft-results.tar.gz
