#!/bin/sh
# Builds perl's own first interpreter, miniperl: the whole language without loadable modules, from about 40 object
# files that are linked in one step, whose order can be varied.
set -eu
cd perl-bench/source

# A configured tree is only good for the machine and the compiler that configured it.
here="$(uname -m) $(cc -dumpmachine) $(cc -dumpversion)"
if [ ! -f makefile ] || [ "$(cat ../configured-for 2>/dev/null)" != "$here" ]; then
    # Configure looks for modules in these, and wants to find a folder in each, of another name.
    mkdir -p cpan/no-cpan dist/no-dist ext/no-ext lib
    ./Configure -des -Dcc=cc -Doptimize=-O2 -Uusedl </dev/null
    # perl's own rule goes on to run modules that are left out here.
    printf 'include makefile\n\nmeasured: $(miniperl_objs)\n\t$(CC) $(CLDFLAGS) -o miniperl $(miniperl_objs) $(libs)\n' \
        >measured.mk
    printf '%s\n' "$here" >../configured-for
fi
[ "${1:-}" != configure ] || exit 0

# Copying may have changed the files' order in time.
find . -exec touch -r Configure {} +
make -f measured.mk measured
test -x miniperl
