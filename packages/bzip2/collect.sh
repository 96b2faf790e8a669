#!/bin/sh
# Reports the sizes, and the digest of the output, which must be the same in every trial.
set -eu
cd bzip2-bench
printf '{"input_bytes": %d, "output_bytes": %d}\n' \
    "$(wc -c <corpus.tar)" "$(wc -c <corpus.tar.bz2)" >metrics.json
sha256sum corpus.tar.bz2 >output.sha256
tar -czf bzip2-results.tar.gz metrics.json output.sha256
echo bzip2-bench/bzip2-results.tar.gz
