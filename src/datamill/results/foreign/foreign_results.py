"""What a reader of a foreign format hands on: executions with their values, as the file reports them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from datamill.results.foreign.content import Content

#: Begins the exclusion of what the tool itself reports as failed.
FAILED = "failed"
#: Begins that of what the tool was told not to measure.
SKIPPED = "skipped"


def is_failure(exclusion: str) -> bool:
    """Tell whether an exclusion says that the benchmark itself failed."""
    return exclusion == FAILED or exclusion.startswith(f"{FAILED}: ")


def is_skip(exclusion: str) -> bool:
    """Tell whether an exclusion says that the benchmark was left out on purpose."""
    return exclusion.startswith((f"{SKIPPED}: ", f"{SKIPPED} ("))


@dataclass(frozen=True, slots=True)
class Series:
    """Values of one response in one execution, in the order of measurement.

    `unit` is the file's. A value of None is one that the file does not give. `exclusion` says why
    no value of the series is to be used, `exclusions` why single ones are not, by their position.
    `iterations` counts the repetitions behind each value, where the file says. With `keep_unit` the
    values are not brought to seconds and bytes, because the response is named after its unit.
    """

    response: str
    unit: str
    values: Sequence[float | None]
    exclusion: str = ""
    exclusions: Mapping[int, str] = field(default_factory=dict)
    iterations: Sequence[int | None] | None = None
    keep_unit: bool = False


@dataclass(frozen=True, slots=True)
class Execution:
    """One process at one design point, with everything that was measured in it.

    `factors` are the parameters of the benchmark; `context` is what else the file tells about the
    circumstances.
    """

    benchmark: str
    factors: Mapping[str, str]
    series: Sequence[Series]
    context: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignResults:
    """Content of one file; `notes` are sentences about what the file does not say or what was left out."""

    executions: Sequence[Execution]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ForeignFormat:
    """A format: `name` to ask for it, `title` for people, how its content is known and how it is read.

    `claims` never raises. `read` raises InputError.
    """

    name: str
    title: str
    claims: Callable[[Content], bool]
    read: Callable[[Content], ForeignResults]
