#!/bin/sh
# Starts its own server on a socket in this folder, loads it, and stops it; `env` says with what.
cd redis-bench || exit 1
rm -f redis.sock results.csv
source/src/redis-server --port 0 --unixsocket "$PWD/redis.sock" --save '' --appendonly no --daemonize no \
    --maxclients 1000 --logfile "$PWD/server.log" &
server=$!
trap 'kill "$server" 2>/dev/null' EXIT
while [ ! -S redis.sock ]; do
    kill -0 "$server" || { cat server.log >&2; exit 1; }
    sleep 0.01
done
source/src/redis-benchmark -s redis.sock -t "${COMMANDS:-set,get,incr,lpush,sadd,zadd}" -n "${REQUESTS:-20000}" \
    -c "${CLIENTS:-20}" -P "${PIPELINE:-1}" -d "${VALUE_BYTES:-64}" -r "${KEYS:-10000}" --csv >results.csv
status=$?
kill "$server"
wait "$server"
trap - EXIT
exit "$status"
