"""Programs with a known difference: a repository with two commits for each."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from random import Random


@dataclass(frozen=True, slots=True)
class Scenario:
    """What head does that base does not.

    `slowdown` is the share by which head's loops are longer. `layout` is the share by which a program is
    slower in one layout of four, in base and head alike if `in_both`. `tail` is the share of executions that
    take twice as long. `is_slower` is the truth: whether head's mean over layouts and executions is larger.
    """

    name: str
    slowdown: float = 0.0
    layout: float = 0.0
    in_both: bool = False
    tail: float = 0.0
    is_slower: bool = True


SCENARIOS = (
    Scenario("alike", is_slower=False),
    Scenario("alike, and layouts matter", layout=0.1, in_both=True, is_slower=False),
    Scenario("1% slower", slowdown=0.01),
    Scenario("3% slower", slowdown=0.03),
    Scenario("10% slower", slowdown=0.1),
    Scenario("3% slower, and layouts matter", slowdown=0.03, layout=0.1, in_both=True),
    Scenario("10% slower in one layout of four", layout=0.1),
    Scenario("twice as slow one time in twenty", tail=0.05),
)

#: Files of code that is never called.
_FILLERS = 12
_MAKEFILE = f"""\
OBJECTS = main.o one.o two.o three.o {" ".join(f"filler{number}.o" for number in range(_FILLERS))}
CFLAGS = -O2
prog: $(OBJECTS)
\t$(CC) -o $@ $(OBJECTS)
"""
_PART = """\
unsigned {name}(unsigned x, long n) {{
    for (long i = 0; i < n; i++) x = x * 1664525u + 1013904223u + (x >> 9);
    return x;
}}
"""
#: The layout is where functions are, measured from where the program begins: link order moves them, and no
#: randomised address does. All of them take part, so that hardly any two orders have the same layout: of few
#: layouts, programs that are alike would not have the same share of slow ones.
_MAIN = """\
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
extern char __executable_start;
unsigned one(unsigned, long), two(unsigned, long), three(unsigned, long);
int filler0_0(int), filler5_0(int);
int main(void) {{
    void *places[] = {{&one, &two, &three, &filler0_0, &filler5_0}};
    uint64_t layout = 0;
    for (int i = 0; i < 5; i++)
        layout = (layout ^ ((uint64_t)places[i] - (uint64_t)&__executable_start)) * 0x9e3779b97f4a7c15;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double n = {loops} * (1 + {slowdown});
    if (layout >> 62 == 0) n *= 1 + {layout};
    if ((now.tv_nsec / 1000) % 1000 < 1000 * {tail}) n *= 2;
    unsigned x = three(two(one(now.tv_nsec, n), n), n);
    return x == 1;
}}
"""
_LOOPS = 2_500_000


def write_repository(folder: Path, scenario: Scenario, number: int) -> None:
    """Write a repository whose last two commits are base and head; each number has other layouts."""
    drawn = Random(f"{scenario.name} {number}")
    folder.mkdir(parents=True)
    _git(folder, "init", "--quiet")
    (folder / "Makefile").write_text(_MAKEFILE)
    (folder / ".gitignore").write_text("*.o\nprog\n")
    for name in ("one", "two", "three"):
        (folder / f"{name}.c").write_text(_PART.format(name=name))
    for is_head in (False, True):
        # Every change moves code: so do these.
        for file in range(_FILLERS):
            filler = "".join(
                f"int filler{file}_{place}(int x) {{ return x * {place + 3} + {drawn.randrange(9)}; }}\n"
                for place in range(drawn.randrange(1, 9))
            )
            (folder / f"filler{file}.c").write_text(filler)
        (folder / "main.c").write_text(
            _MAIN.format(
                loops=_LOOPS,
                slowdown=scenario.slowdown if is_head else 0,
                layout=scenario.layout if is_head or scenario.in_both else 0,
                tail=scenario.tail if is_head else 0,
            )
        )
        _git(folder, "add", "--all")
        _git(folder, "commit", "--quiet", "--allow-empty", "--message", "head" if is_head else "base")


def build_revision(repository: Path, revision: str, folder: Path) -> Path:
    """Build a revision once, as people do who compare two binaries, and return the program."""
    subprocess.run(["git", "clone", "--quiet", str(repository), str(folder)], check=True)
    _git(folder, "checkout", "--quiet", revision)
    subprocess.run(["make", "--silent"], cwd=folder, check=True)
    return folder / "prog"


def _git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=study", "-c", "user.email=study@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)
