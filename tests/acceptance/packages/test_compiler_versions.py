"""A compiler as a factor: each level's program says itself what compiled it."""

from __future__ import annotations

import json

import pytest

from datamill.execution.worker import find_worker, read_offers

MAIN = """
#include <stdio.h>
int main(void) {
#ifdef __clang__
    printf("clang-%d\\n", __clang_major__);
#else
    printf("gcc-%d\\n", __GNUC__);
#endif
    return 0;
}
"""
SETUP = f"""#!/bin/sh
set -e
cat > main.c <<'END'
{MAIN}
END
gcc -c main.c
cc main.o -o program
"""
TEXT = """
[experiment]
name = "compilers"
replicates = 1
seed = 1
build = "shared"

[[package]]
name = "a"
path = "a"

[factors]
compiler_version = {levels}
"""


def test_each_compiler_that_is_installed_builds_what_says_so_itself(datamill, make_experiment) -> None:
    """The level is read back from the calls and the marks; the program's own macros agree."""
    offer = read_offers(find_worker())["compiler_version"]
    if not offer.levels:
        pytest.skip(offer.reason)
    levels = list(offer.levels[:3])
    file = make_experiment(
        text=TEXT.format(levels=json.dumps(levels)),
        packages=("a",),
        setup=SETUP,
        run="#!/bin/sh\n./program\n",
    )
    result = datamill("run", file, "--out", "bundle")
    assert result.returncode == 0, result.stdout + result.stderr
    bundle = file.parent / "bundle"
    records = [json.loads(line) for line in (bundle / "log.jsonl").read_text().splitlines()]
    assert sorted(record["levels"]["compiler_version"] for record in records) == sorted(levels)
    for record in records:
        level = record["levels"]["compiler_version"]
        (told,) = [item for item in record["factors"] if item["name"] == "compiler_version"]
        assert told["observed"] == level, told["evidence"]
        compiler = record["build"]["compiler"]
        assert compiler["compilers"] == {level: 1}
        assert set(compiler["marks"]) <= {level}
        assert level in {*compiler["marks"], *compiler["startup_marks"]}
        (printed,) = (bundle / "artifacts").glob(f"*{record['trial_id']}*/run.out")
        assert printed.read_text() == f"{level}\n"


def test_a_compiler_that_is_not_there_is_told_before_anything_runs(datamill, make_experiment) -> None:
    """With the level and the factor."""
    file = make_experiment(text=TEXT.format(levels='["clang-3"]'), packages=("a",), setup=SETUP)
    result = datamill("check", file)
    assert result.returncode == 2
    assert "clang-3" in result.stderr
    assert "compiler_version" in result.stderr
    assert not (file.parent / "bundle").exists()
