#!/bin/sh
# Sends to itself through 127.0.0.1, then asks and answers; `env` says how much.
cd loopback-bench || exit 1
exec ./loopback "${STREAMS:-1}" "${MEGABYTES:-2000}" "${BLOCK_BYTES:-131072}" "${ROUND_TRIPS:-2000}" "${MESSAGE_BYTES:-64}"
