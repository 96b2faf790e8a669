#!/bin/sh
# Serves until it is stopped; `env` says where, by how many processes, and how large pages are.
cd web-bench || exit 1
exec ./server "${WEB_PORT:-18580}" "${PROCESSES:-8}" "${PAGE_BYTES:-16384}"
