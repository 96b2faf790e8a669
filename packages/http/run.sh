#!/bin/sh
# Asks a server in another process over one connection; `env` says how often, unless the experiment does.
cd http-bench || exit 1
exec python3 bench.py "${REQUESTS:-2000}" "${BODY_BYTES:-256}"
