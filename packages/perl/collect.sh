#!/bin/sh
# Hands over what the workload counted, which must be the same in every trial.
set -eu
cd perl-bench
tar -czf perl-results.tar.gz metrics.json
echo perl-bench/perl-results.tar.gz
