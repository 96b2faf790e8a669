#!/bin/sh
# Encrypts and decrypts a short text in memory for a second each, again and again; `env` says how often, unless the
# experiment does.
set -eu
rounds=${ROUNDS:-3}
if [ -n "${DATAMILL_MEASUREMENTS:-}" ]; then
    rounds=$((DATAMILL_MEASUREMENTS + ${DATAMILL_WARMUP:-0}))
fi
: >encrypt.txt
: >decrypt.txt
round=0
while [ "$round" -lt "$rounds" ]; do
    for way in encrypt decrypt; do
        [ "$way" = decrypt ] && back=-decrypt || back=
        # -mr: a line for programs, of which the last field is bytes a second.
        openssl speed -mr -seconds 1 -bytes "${BLOCK_BYTES:-1024}" $back -evp "${CIPHER:-aes-128-cbc}" 2>/dev/null |
            awk -F: '/^\+F:/ { print $NF; seen = 1 } END { exit !seen }' >>"$way.txt"
    done
    round=$((round + 1))
done
