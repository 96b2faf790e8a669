#!/bin/sh
# Calls functions of a server in another process; `env` says how often, unless the experiment does.
cd rpc-bench || exit 1
exec python3 bench.py "${CALLS:-500}" "${RECORDS:-50}"
