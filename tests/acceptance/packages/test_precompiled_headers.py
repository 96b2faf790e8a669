"""Precompiled headers of a package fit the code that is compiled with them, whatever the wrapper sets."""

from __future__ import annotations

import json
import shutil

import pytest

SETUP = """#!/bin/sh
set -e
for how in language suffix object named; do
    mkdir $how && cd $how
    echo '#include <vector>' > all.hpp
    case $how in
    language) g++ -x c++-header all.hpp -o all.hpp.gch ;;
    suffix) g++ all.hpp ;;
    object) g++ -c all.hpp ;;
    named) : > all.hpp.cxx; g++ -x c++-header -include all.hpp -o all.hpp.gch -c all.hpp.cxx ;;
    esac
    printf '#include "all.hpp"\\nint main() { return std::vector<int>().size(); }\\n' > main.cpp
    g++ -Werror=invalid-pch -H -c main.cpp -o main.o 2> used.txt || { cat used.txt >&2; exit 1; }
    grep -q '^! .*all.hpp.gch' used.txt
    g++ main.o -o program
    cd ..
done
"""
TEXT = """
[experiment]
name = "headers"
replicates = 1
seed = 1

[[package]]
name = "a"
path = "a"

[factors]
compiler_flags = ["none", "-g"]
optimization = ["-O0", "-O2"]
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
def test_precompiled_headers_are_used_at_all_levels_however_they_are_made(datamill, make_experiment) -> None:
    """`g++ -x c++-header`, by suffix, with -c, and as CMake makes them."""
    file = make_experiment(text=TEXT, packages=("a",), setup=SETUP, run="#!/bin/sh\nlanguage/program\n")
    result = datamill("run", file, "--out", "bundle")
    assert result.returncode == 0, result.stdout + result.stderr
    lines = (file.parent / "bundle" / "log.jsonl").read_text().splitlines()
    assert len(lines) == 4
    for line in lines:
        record = json.loads(line)
        assert record["failure"] is None
        assert all(factor["observed"] == factor["asked"] for factor in record["factors"])
