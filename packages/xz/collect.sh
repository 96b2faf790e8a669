#!/bin/sh
# Reports the sizes, and the digest of the output, which must be the same in every trial.
set -eu
cd xz-bench
printf '{"input_bytes": %d, "output_bytes": %d}\n' \
    "$(wc -c <corpus.tar)" "$(wc -c <corpus.tar.xz)" >metrics.json
sha256sum corpus.tar.xz >output.sha256
tar -czf xz-results.tar.gz metrics.json output.sha256
echo xz-bench/xz-results.tar.gz
