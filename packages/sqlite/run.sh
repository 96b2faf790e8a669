#!/bin/sh
# Fills, indexes and asks a database, in memory and in a file; `env` says how large and where.
cd sqlite-bench || exit 1
exec ./workload "${ROWS:-60000}" "${DATABASE:-parcels.db}"
