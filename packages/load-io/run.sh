#!/bin/sh
# Writes a file, has it written out, reads it again and removes it, until it is stopped.
set -eu
while :; do
    dd if=/dev/zero of="${FILE:-load-io.bin}" bs=1048576 count="${MEGABYTES:-64}" conv=fsync 2>/dev/null
    cat "${FILE:-load-io.bin}" >/dev/null
    rm -f "${FILE:-load-io.bin}"
done
