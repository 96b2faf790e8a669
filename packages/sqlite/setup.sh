#!/bin/sh
# Builds SQLite from its separate source files, not from the amalgamation: a link of about 80 object files, whose
# order can be varied.
set -eu
cd sqlite-bench
source=$PWD/source
if [ ! -f made/sqlite3.h ]; then
    # What SQLite's own build makes of its sources, too; the same on every machine.
    mkdir -p made tools
    for tool in lemon mkkeywordhash mksourceid; do
        cc -O1 -w -o "tools/$tool" "source/tool/$tool.c"
    done
    cp source/src/parse.y source/tool/lempar.c made/
    (
        cd made
        ../tools/lemon parse.y
        ../tools/mkkeywordhash >keywordhash.h
        cat parse.h "$source/src/vdbe.c" | tclsh "$source/tool/mkopcodeh.tcl" >opcodes.h
        tclsh "$source/tool/mkopcodec.tcl" opcodes.h >opcodes.c
    )
    (cd tools && tclsh ../source/tool/mksqlite3h.tcl "$source" >header)
    mv tools/header made/sqlite3.h
fi
[ "${1:-}" != configure ] || exit 0

mkdir -p objects
for file in source/src/[a-z]*.c made/parse.c made/opcodes.c; do
    name=$(basename "$file" .c)
    case $name in
    test* | tclsqlite | os_win | mutex_w32) continue ;;
    esac
    cc -O2 -w -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_THREADSAFE=0 -DSQLITE_DEFAULT_MEMSTATUS=0 \
        -Imade -Isource/src -c "$file" -o "objects/$name.o"
done
cc -O2 -std=gnu11 -Wall -Wextra -Imade -c workload.c -o objects/workload.o
cc -o workload objects/*.o -lm
