"""What a reader of a suite's results hands on: values of benchmarks on machines, and facts about these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from datamill.results.foreign.content import Content


@dataclass(frozen=True, slots=True)
class SuiteValue:
    """One value of a benchmark on a machine: seconds, or a score of which more is better.

    `unit` is the file's own, for messages.
    """

    machine: str
    benchmark: str
    replicate: int
    value: float
    kind: Literal["seconds", "score"]
    unit: str = ""


@dataclass(frozen=True, slots=True)
class SuiteResults:
    """Content of one file.

    `facts` are numbers about each machine (`clock_mhz`, `cores` …); `notes` are sentences about what was left
    out. With `one_system` the file is of one machine, whose name others may have too: suites come as several
    files of one machine.
    """

    values: Sequence[SuiteValue]
    facts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    one_system: bool = False


@dataclass(frozen=True, slots=True)
class SuiteFormat:
    """A format of suites: its title, how its content is known and how it is read.

    `suffixes` are the endings of its files in a folder. `claims` never raises. `read` raises InputError.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    claims: Callable[[Content], bool]
    read: Callable[[Content], SuiteResults]
