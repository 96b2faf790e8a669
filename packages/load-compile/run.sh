#!/bin/sh
# Compiles the same file of C again and again, in as many processes as JOBS says, until it is stopped.
set -eu
awk -v functions="${FUNCTIONS:-400}" 'BEGIN {
    print "struct cell { struct cell *next; long value; };"
    for (at = 0; at < functions; at++) {
        printf "long compute_%d(struct cell *cell, long start)\n{\n    long sum = start;\n", at
        printf "    for (; cell; cell = cell->next)\n        switch ((cell->value + %d) & 7) {\n", at
        for (part = 0; part < 8; part++)
            printf "        case %d: sum = sum * %d + (cell->value >> %d); break;\n", part, 2 * part + 3, part
        printf "        }\n    return sum;\n}\n\n"
    }
}' >load-compile.c
jobs=${JOBS:-0}
[ "$jobs" != 0 ] || jobs=$(getconf _NPROCESSORS_ONLN)
while [ "$jobs" -gt 0 ]; do
    while :; do cc -O2 -c -o "load-compile-$jobs.o" load-compile.c; done &
    jobs=$((jobs - 1))
done
wait
