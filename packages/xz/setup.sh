#!/bin/sh
# Builds xz from its upstream source tree with its own build system.
set -eu
cd xz-bench/source

# A configured tree is only good for the machine and the compiler that configured it.
here="$(uname -m) $(cc -dumpmachine) $(cc -dumpversion)"
if [ ! -f Makefile ] || [ "$(cat ../configured-for 2>/dev/null)" != "$here" ]; then
    # A static library: program and library are then linked in one step, whose order can be varied.
    # What is not measured (translations, scripts, small decoders, documents) is not built, and there is
    # neither debug information nor dependency tracking: both slow the build and change no code.
    ./configure CC=cc CFLAGS=-O2 --disable-dependency-tracking --disable-shared \
        --disable-nls --disable-doc --disable-scripts \
        --disable-xzdec --disable-lzmadec --disable-lzmainfo --disable-lzma-links
    printf '%s\n' "$here" >../configured-for
fi
[ "${1:-}" != configure ] || exit 0

# Copying may have changed the files' order in time, which would make `make` call for autotools.
find . -exec touch -r configure {} +
make
test -x src/xz/xz
