"""Versions of a library as levels: each trial's program says itself which one it called."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

SETUP = """#!/bin/sh
set -e
mkdir own
printf 'int foo_version(void){return 1;}\\n' > foo.c
gcc -shared -fPIC -Wl,-soname,libfoo.so.1 foo.c -o own/libfoo.so.1
cat > main.c <<'END'
#include <stdio.h>
int foo_version(void);
int main(void) { printf("%d", foo_version()); }
END
if [ -e pinned ]; then gcc main.c own/libfoo.so.1 -Wl,--disable-new-dtags,-rpath,"$PWD/own" -o program
else gcc main.c own/libfoo.so.1 -o program
fi
"""
TEXT = """
[experiment]
name = "libraries"
replicates = 1
seed = 1

[[package]]
name = "a"
path = "a"

[[package]]
name = "b"
path = "b"

[factors.foo]
library = ["./foo-2", "./foo-3"]
program = "program"
"""


def build_library(folder: Path, version: int) -> None:
    """A library of one function, which returns its version."""
    (folder / "lib").mkdir(parents=True)
    source = folder / "foo.c"
    source.write_text(f"int foo_version(void) {{ return {version}; }}\n")
    library = folder / "lib" / f"libfoo.so.1.{version}"
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libfoo.so.1", source, "-o", library], check=True)
    (folder / "lib" / "libfoo.so.1").symlink_to(library.name)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
def test_each_level_is_the_library_that_the_program_calls(datamill, make_experiment) -> None:
    """A program that keeps to a library of its own, by RPATH, is seen to: its trials have another level."""
    file = make_experiment(text=TEXT, setup=SETUP, run="#!/bin/sh\n./program\n")
    (file.parent / "b" / "pinned").touch()
    for version in (2, 3):
        build_library(file.parent / f"foo-{version}", version)
    result = datamill("run", file, "--out", "bundle")
    # One trial a level gives no interval; those of package b do not count.
    assert "2 trials completed but cannot be used: foo was mixed" in result.stdout, result.stderr
    bundle = file.parent / "bundle"
    records = [json.loads(line) for line in (bundle / "log.jsonl").read_text().splitlines()]
    assert len(records) == 4
    for record in records:
        (told,) = record["factors"]
        printed = (bundle / "artifacts" / f"{record['trial_id']}.1" / "run.out").read_text().strip()
        if record["package"] == "a":
            assert told["observed"] == record["levels"]["foo"] == f"foo-{printed}", told["evidence"]
        else:
            assert (told["observed"], printed) == ("mixed", "1")


def test_a_folder_without_a_library_is_refused_with_its_line(datamill, make_experiment) -> None:
    """As is one that is not there."""
    file = make_experiment(text=TEXT)
    (file.parent / "foo-2").mkdir()
    result = datamill("check", file)
    assert result.returncode == 2
    assert "no shared library" in result.stderr
    assert "experiment.toml:16" in result.stderr
