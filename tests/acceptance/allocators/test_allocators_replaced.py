"""`datamill allocators trace` of programs that another allocator than the C library's serves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHURN = r"""
#include <pthread.h>
#include <stdlib.h>

static void *churn(void *unused) {
    void *kept[3000];
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 3000; i++) kept[i] = malloc(600); /* CHURN */
        for (int i = 0; i < 3000; i++) free(kept[i]);
    }
    return unused;
}

int main(void) {
    pthread_t threads[3];
    churn(NULL);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, churn, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 0;
}
"""
REQUESTS = 4 * 5 * 3000
#: Blocks that thread caches hand out again, and operators of C++ as its library or an allocator has them.
OBJECTS = r"""
#include <new>
struct alignas(64) Wide { char bytes[64]; };
volatile unsigned long size = 1UL << 62;
int main() {
    char *kept[1000];
    for (auto &object : kept) object = new char[300000]; // ARRAY
    for (auto &object : kept) delete[] object;
    Wide *wide = new Wide; // WIDE
    delete wide;
    try { kept[0] = new char[size]; } catch (const std::bad_alloc &) { return 5; }
    return 6;
}
"""


def find_library(name: str) -> str:
    found = next((str(path) for path in Path("/usr/lib").glob(f"*/{name}")), None)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def build(folder: Path, compiler: str, source: str, text: str) -> Path:
    (folder / source).write_text(text, encoding="utf-8")
    command = [compiler, "-g", "-O0", "-fno-builtin", "-pthread", "-o", "program", source]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "program"


def trace(
    folder: Path, program: Path, library: str = "", status: int = 0, **settings: str
) -> tuple[str, dict[str, Any]]:
    """Trace a program and return what it wrote to standard error, and the JSON."""
    done = subprocess.run(
        [
            *(sys.executable, "-c", "from datamill.cli.main import main; main()", "allocators", "trace"),
            *("--json", "found.json", "--quiet", "--", str(program)),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder,
        env={**os.environ, **settings, "LD_PRELOAD": library},
    )
    assert done.returncode == status, done.stderr
    found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return done.stderr, found


def count(found: dict[str, Any], event: str, text: str, mark: str) -> int:
    line = next(number for number, line in enumerate(text.splitlines(), 1) if mark in line)
    return sum(row["count"] for row in found["lines"] if (row["event"], row["line"]) == (event, line))


def test_refills_of_jemalloc_are_those_that_it_counts_itself(tmp_path: Path) -> None:
    library = find_library("libjemalloc.so.2")
    program = build(tmp_path, "cc", "churn.c", CHURN)
    printed, found = trace(
        tmp_path, program, library, MALLOC_CONF="stats_print:true,stats_print_opts:J,narenas:1"
    )
    # The command itself is served by it, too, and prints its own after the program's.
    own, _ = json.JSONDecoder().raw_decode(printed[printed.index("{") :])
    sizes = [entry["size"] for entry in own["jemalloc"]["arenas"]["bin"]]
    filled = sum(
        arena["bins"][sizes.index(640)]["nfills"]
        for name, arena in own["jemalloc"]["stats.arenas"].items()
        if name.isdigit()
    )
    assert count(found, "cache_refill", CHURN, "CHURN") == filled > 100
    [program_found] = found["programs"]
    assert program_found["allocator"].startswith("jemalloc 5.")


@pytest.mark.parametrize(
    ("name", "allocator"),
    [("libmimalloc.so.2", "mimalloc"), ("libtcmalloc_minimal.so.4", "tcmalloc")],
)
def test_the_caches_of_other_allocators_are_found(tmp_path: Path, name: str, allocator: str) -> None:
    library = find_library(name)
    program = build(tmp_path, "cc", "churn.c", CHURN)
    _, found = trace(tmp_path, program, library)
    [program_found] = found["programs"]
    assert program_found["allocator"].startswith(f"{allocator} ")
    assert not any("refills" in sentence for sentence in found["not_visible"])
    # Both hand out many blocks for each time that they take their longer path.
    assert 100 < count(found, "cache_refill", CHURN, "CHURN") < REQUESTS / 4


@pytest.mark.parametrize("name", ["", "libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_what_operator_new_asks_for_is_counted_in_the_line_that_calls_it(tmp_path: Path, name: str) -> None:
    library = find_library(name) if name else ""
    program = build(tmp_path, "c++", "objects.cpp", OBJECTS)
    # Where memory is refused, an allocator may throw as it should (5), or give up.
    untraced = subprocess.run([program], env={**os.environ, "LD_PRELOAD": library}, check=False)
    assert untraced.returncode in (5, -6)
    _, found = trace(tmp_path, program, library, status=untraced.returncode)
    events = ("memory_map", "heap_extend", "cache_refill", "page_fault")
    assert sum(count(found, event, OBJECTS, "ARRAY") for event in events) >= 20
