#!/bin/sh
# Asks the server on this machine for pages; `env` says where, how many, and how many at a time.
cd web-bench || exit 1
exec ./client "${WEB_PORT:-18580}" "${REQUESTS:-30000}" "${CONCURRENCY:-8}" 10
