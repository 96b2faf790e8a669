"""`datamill allocators trace` of native programs, which say by themselves what their allocator did."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

#: Looks at the end of the heap, at glibc's word before each block and at the kernel's count of page faults
#: by itself.
ORACLE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void *kept[6000];

static long count_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
}

static int extend(int count) {
    int extended = 0;
    for (int i = 0; i < count; i++) {
        char *before = sbrk(0);
        kept[i] = malloc(1000); /* EXTEND */
        extended += (char *)sbrk(0) > before;
    }
    return extended;
}

static int map(int count) {
    int mapped = 0;
    for (int i = 0; i < count; i++) {
        void *block = malloc(300000 + i * 4096); /* MAP */
        mapped += (((size_t *)block)[-1] & 2) != 0;
        kept[i] = block;
    }
    return mapped;
}

/* Seven blocks of each size are kept for a thread (glibc). */
static int refill(int rounds, int blocks) {
    void *own[64];
    int found = 0, missed = 0;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < blocks; i++) {
            own[i] = malloc(1016); /* REFILL */
            if (found > 0) found--; else missed++;
        }
        for (int i = 0; i < blocks; i++) {
            free(own[i]);
            if (found < 7) found++;
        }
    }
    return missed;
}

static void *in_thread(void *missed) {
    *(int *)missed = refill(50, 20);
    return NULL;
}

int main(int count, char **arguments) {
    (void)count;
    const char *what = arguments[1];
    if (!strcmp(what, "extend")) printf("%d\n", extend(5000));
    if (!strcmp(what, "map")) printf("%d\n", map(50));
    if (!strcmp(what, "refill")) printf("%d\n", refill(100, 20));
    if (!strcmp(what, "threads")) {
        pthread_t threads[6];
        int missed[6], sum = 0;
        for (int i = 0; i < 6; i++) pthread_create(&threads[i], NULL, in_thread, &missed[i]);
        for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL), sum += missed[i];
        printf("%d\n", sum);
    }
    if (!strcmp(what, "faults")) {
        long before = count_faults();
        for (int i = 0; i < 6000; i++) kept[i] = malloc(1000); /* FAULTS */
        printf("%ld\n", count_faults() - before);
    }
    if (!strcmp(what, "forks")) {
        for (int i = 0; i < 5; i++) {
            if (fork() == 0) { refill(10, 20); _exit(0); }
            wait(NULL);
        }
        printf("%d\n", 5 * (20 + 9 * 13));
    }
    return 7;
}
"""


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("native")
    (folder / "oracle.c").write_text(ORACLE, encoding="utf-8")
    subprocess.run(
        ["cc", "-g", "-O1", "-fno-builtin", "-pthread", "-o", "oracle", "oracle.c"], cwd=folder, check=True
    )
    return folder / "oracle"


def find_line(mark: str) -> int:
    return next(number for number, line in enumerate(ORACLE.splitlines(), 1) if f"/* {mark} */" in line)


def trace(
    folder: Path, *command: str | Path, options: tuple[str, ...] = (), status: int = 7
) -> tuple[str, Any]:
    """Trace a program and return what it printed, and the JSON."""
    done = subprocess.run(
        [
            *(sys.executable, "-c", "from datamill.cli.main import main; main()", "allocators", "trace"),
            *("--json", "found.json", *options, "--", *map(str, command)),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder,
        env={**os.environ, "GLIBC_TUNABLES": ""},
    )
    assert done.returncode == status, done.stderr
    return done.stdout, json.loads((folder / "found.json").read_text(encoding="utf-8"))


def count(found: dict[str, Any], event: str, line: int) -> int:
    return sum(
        row["count"]
        for row in found["lines"]
        if (row["event"], row["line"]) == (event, line) and row["file"].endswith("oracle.c")
    )


@pytest.mark.parametrize(
    ("what", "event", "mark", "least"),
    [
        ("extend", "heap_extend", "EXTEND", 20),
        ("map", "memory_map", "MAP", 20),
        ("refill", "cache_refill", "REFILL", 1000),
        ("threads", "cache_refill", "REFILL", 3000),
        ("forks", "cache_refill", "REFILL", 500),
    ],
)
def test_events_of_a_native_program_are_those_that_it_sees_itself_in_the_line_where_it_asks(
    tmp_path: Path, oracle: Path, what: str, event: str, mark: str, least: int
) -> None:
    printed, found = trace(tmp_path, oracle, what)
    assert count(found, event, find_line(mark)) == int(printed) > least
    [program] = found["programs"]
    assert program["allocator"].startswith("glibc ")
    assert found["totals"]["list_resize"] == 0


def test_page_faults_are_those_that_the_kernel_counts(tmp_path: Path, oracle: Path) -> None:
    untraced = subprocess.run([oracle, "faults"], capture_output=True, text=True, check=False).stdout
    _, found = trace(tmp_path, oracle, "faults", options=("--faults",))
    # Pages that the program had already touched for something else are the same, but for a few.
    assert abs(count(found, "page_fault", find_line("FAULTS")) - int(untraced)) <= 10
    assert int(untraced) > 1000


def test_a_program_without_debug_information_has_symbols_and_offsets(tmp_path: Path, oracle: Path) -> None:
    subprocess.run(["strip", "--strip-debug", "-o", tmp_path / "bare", oracle], check=True)
    _, found = trace(tmp_path, tmp_path / "bare", "map")
    [line] = [line for line in found["lines"] if line["event"] == "memory_map"]
    assert line["file"] == str(tmp_path / "bare")
    assert line["function"].startswith(("map+0x", "main+0x"))
    assert (line["line"], line["count"]) == (0, 50)


def test_stacks_of_a_native_program_lead_to_its_beginning(tmp_path: Path, oracle: Path) -> None:
    _, found = trace(tmp_path, oracle, "map", options=("--stacks",))
    [stack] = [
        stack
        for stack in found["stacks"]
        if stack["event"] == "memory_map" and stack["frames"][0]["line"] == find_line("MAP")
    ]
    assert [frame["function"] for frame in stack["frames"][:2]] == ["map", "main"]
    assert stack["count"] == 50


def test_latencies_of_a_native_program_mark_requests_that_took_the_longer_path(
    tmp_path: Path, oracle: Path
) -> None:
    import polars as pl

    printed, _ = trace(tmp_path, oracle, "refill", options=("--latencies", "calls.parquet"))
    table = pl.read_parquet(tmp_path / "calls.parquet").filter(
        pl.col("file").str.ends_with("oracle.c"), pl.col("line") == find_line("REFILL")
    )
    assert table.columns[:4] == ["index", "latency_ns", "cycles", "binned"]
    assert table.height == 100 * 20
    assert table["binned"].sum() == int(printed)
    assert set(table["domain"]) == {"native"}
    assert (table["size_class"] >= table["size"]).all()


def test_a_shell_and_its_interpreter_are_told_apart(tmp_path: Path) -> None:
    script = f"exec {sys.executable} -c 'kept = []\nfor i in range(1000): kept.append(i)'"
    _, found = trace(tmp_path, "sh", "-c", script, status=0)
    assert (found["interpreter_count"], found["program_count"]) == (1, 1)
    assert sum(row["count"] for row in found["lines"] if row["event"] == "list_resize") == 28


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace here")
def test_a_program_that_starts_calls_the_kernel_a_few_hundred_times_for_us_at_most(tmp_path: Path) -> None:
    # A configure script starts thousands of them. Where each word that is read was copied by the kernel,
    # it was called 20 000 times.
    trace(tmp_path, "strace", "-f", "-o", "calls", "true", status=0)
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert 20 < len(calls) < 400


@pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="no musl-gcc here (Debian's package musl-tools)")
def test_a_program_of_another_c_library_runs_as_alone_and_nothing_is_counted(tmp_path: Path) -> None:
    source = '#include <stdio.h>\nint main(void) { puts("as alone"); return 7; }\n'
    (tmp_path / "other.c").write_text(source, encoding="utf-8")
    subprocess.run(["musl-gcc", "-o", "other", "other.c"], cwd=tmp_path, check=True)
    printed, found = trace(tmp_path, tmp_path / "other")
    assert printed == "as alone\n"
    assert any("belongs to another C library" in sentence for sentence in found["not_visible"])
    # And where what starts it belongs to glibc.
    printed, found = trace(tmp_path, "sh", "-c", "./other")
    assert printed == "as alone\n"
    assert found["program_count"] == 1
