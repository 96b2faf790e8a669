"""A gate as records: benchmarks that a change must not slow down."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_WITHIN_S = 300.0
DEFAULT_ALPHA = 0.05
DEFAULT_LIMIT = 0.01
#: From here on the chance of a false alarm is a coin's.
MOST_ALPHA = 0.5


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One command that is measured.

    Without a `tool` its time is the value. With one it writes results in that tool's form, for one benchmark
    or many: to `output`, a file or folder relative to where it runs, or to standard output. `directory` is
    where it runs, relative to the folder where the user is. `setup` builds it there, behind the build of the
    whole; `setup_place` is where that is written, for messages.
    """

    name: str
    command: str
    tool: str = ""
    output: str = ""
    directory: str = ""
    setup: str = ""
    setup_place: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate between two revisions.

    `base` is empty where it is to be found. `build_place` is where the build is written, for messages.
    `alpha` is the chance of a false alarm in any benchmark of a run. A difference below `limit` does not
    matter; a benchmark is an alarm when it is certainly slower by more than `tolerate`.
    """

    benchmarks: tuple[Benchmark, ...]
    base: str = ""
    head: str = "HEAD"
    build: str = ""
    build_place: str = ""
    within_s: float = DEFAULT_WITHIN_S
    alpha: float = DEFAULT_ALPHA
    limit: float = DEFAULT_LIMIT
    tolerate: float = 0.0
