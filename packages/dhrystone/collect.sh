#!/bin/sh
# Hands over the metrics that the program wrote.
set -eu
cd dry
tar -czf dry-results.tar.gz metrics.json
echo dry/dry-results.tar.gz
