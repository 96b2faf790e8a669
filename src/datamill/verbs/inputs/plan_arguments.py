"""What `plan` is asked, as people write it: goals, costs, variances, bounds."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from numbers import Real
from operator import index

from datamill.analysis.random_effects.variance_estimate import LEVELS, Level
from datamill.analysis.repetition.repetition_plan import GoalKind, PlanBounds, PlanGoal
from datamill.analysis.repetition.search import Bounds
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_given, format_level

#: Seconds of the units of time that a response or an option may have.
TIME_UNITS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0,
}  # fmt: skip
_NUMBER = r"([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)"
_DURATION = re.compile(rf"\s*{_NUMBER}\s*([a-zµ]*)\s*")
_SIZE = re.compile(rf"\s*{_NUMBER}\s*(%?)\s*")
_RANGE = re.compile(r"\s*(\d*)\s*(?::\s*(\d*)\s*)?")
_COST = re.compile(rf"\s*([a-z]+)\s*=\s*{_NUMBER}\s*")
_UNKNOWN = ("?", "-", "unknown")


@dataclass(frozen=True, slots=True)
class AskedSize:
    """A half-width or difference: a share of the mean, or an absolute one in the response's unit."""

    value: float
    relative: bool

    def resolve(self, mean: float | None, name: str) -> float:
        """The size in the response's unit; `name` is the argument that gave it.

        Raises:
            InputError: it is a share of a mean that is not known or 0.
        """
        if not self.relative:
            return self.value
        if not mean:
            raise InputError(
                f"{format_level(self.value)} is a share of the mean, which is "
                f"{'0' if mean == 0 else 'not known'}",
                where=argument(name),
                remedy=f"Give the mean by {argument('mean')}, or a size in the unit of the response.",
            )
        return self.value * abs(mean)


def take_size(name: str, given: object) -> AskedSize:
    """A size above zero: `1%` of the mean, or a number in the response's unit.

    Raises:
        InputError: it is neither.
    """
    where = argument(name)
    if isinstance(given, str) and (match := _SIZE.fullmatch(given)):
        value, relative = float(match[1]), bool(match[2])
        size = AskedSize(value / 100 if relative else value, relative)
    elif isinstance(given, Real) and not isinstance(given, bool):
        size = AskedSize(float(given), False)
    else:
        size = AskedSize(0.0, False)
    if not (size.value > 0 and math.isfinite(size.value)):
        raise InputError(
            f"{given!r} is not a size above zero",
            where=where,
            remedy="Write a percentage of the mean such as 1%, or a number in the unit of the response.",
        )
    return size


def take_duration(name: str, given: object) -> tuple[float, bool]:
    """A time from zero on in seconds, such as `2 h`, `0.5ms` or a number; and whether it named a unit.

    Raises:
        InputError: it is not one.
    """
    if isinstance(given, Real) and not isinstance(given, bool):
        value, unit = float(given), ""
    elif isinstance(given, str) and (match := _DURATION.fullmatch(given)):
        value, unit = float(match[1]), match[2]
    else:
        value, unit = -1.0, ""
    if not (value >= 0 and math.isfinite(value)) or (unit and unit not in TIME_UNITS):
        raise InputError(
            f"{given!r} is not a time",
            where=argument(name),
            remedy=f"Write a number and a unit, such as 30s or 2h; units: {', '.join(TIME_UNITS)}.",
        )
    return value * TIME_UNITS.get(unit, 1.0), bool(unit)


def take_paper_costs(given: str) -> tuple[float, float, float]:
    """The paper's b, w and q (equations 18 and 22) of a text such as `b=5000,w=100,q=1`; q is 1 if left out.

    Raises:
        InputError: it is no such text.
    """
    found: dict[str, float] = {"q": 1.0}
    for part in given.split(","):
        match = _COST.fullmatch(part)
        if match is None or match[1] not in ("b", "w", "q"):
            raise InputError(
                f'"{part.strip()}" is not one of the paper\'s costs b, w and q',
                where=argument("costs"),
                remedy="Write b=…,w=…,q=…: a build and the start of an execution in measured operations, "
                "and how much longer a measurement takes than the operation.",
            )
        found[match[1]] = float(match[2])
    missing = [name for name in ("b", "w") if name not in found]
    if missing or found["q"] <= 0:
        raise InputError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
            if missing
            else "q is 0, and a measurement would cost nothing",
            where=argument("costs"),
            remedy="Write b=…,w=…,q=….",
        )
    return found["b"], found["w"], found["q"]


def take_variances(given: object) -> dict[Level, float]:
    """σ²_V, σ²_B and σ²_E by level, of `0.04,0.01,0.2` or three numbers; `?` is one that is not known.

    Raises:
        InputError: they are not three, one is negative or no number, or none is known.
    """
    parts: list[object]
    if isinstance(given, str):
        parts = [part.strip() for part in given.split(",")]
    elif isinstance(given, (list, tuple)):
        parts = list(given)
    else:
        parts = []
    remedy = (
        "Write three numbers, such as 0.04,0.01,0.2, for builds, executions, measurements; ? if not known."
    )
    if len(parts) != 3:
        raise InputError(f"{given!r} are not three variances", where=argument("variances"), remedy=remedy)
    found: dict[Level, float] = {}
    for level, part in zip(LEVELS, parts, strict=True):
        if part is None or part in _UNKNOWN:
            continue
        try:
            value = float(part)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            value = -1.0
        if not (value >= 0 and math.isfinite(value)):
            raise InputError(f"{part!r} is not a variance", where=argument("variances"), remedy=remedy)
        found[level] = value
    if not found:
        raise InputError("no variance is known", where=argument("variances"), remedy=remedy)
    return found


def take_range(name: str, given: object, usual: Bounds) -> Bounds:
    """How many there may be, of `5:30`, `5:`, `:30` or one number; None is the usual range.

    Raises:
        InputError: it is no range of whole numbers from 1.
    """
    if given is None or given == "":
        return usual
    low, high = -1, -1
    if (whole := _read_whole(given)) is not None:
        low = high = whole
    elif isinstance(given, (list, tuple)) and len(given) == 2:
        ends = [_read_whole(end) for end in given]
        low, high = (-1 if end is None else end for end in ends)
    elif isinstance(given, str) and (match := _RANGE.fullmatch(given)) and (match[1] or match[2]):
        low = int(match[1] or usual[0])
        high = low if ":" not in given else int(match[2] or usual[1])
    if not 1 <= low <= high <= usual[1]:
        raise InputError(
            f"{given!r} is not a range from 1 to {usual[1]}",
            where=argument(name),
            remedy="Write a number such as 10, or FROM:TO such as 5:30.",
        )
    return low, high


def _read_whole(given: object) -> int | None:
    """A whole number of Python's or NumPy's; None of anything else, and of True and False."""
    try:
        return None if isinstance(given, bool) else index(given)  # type: ignore[arg-type]
    except TypeError:
        return None


def take_bounds(builds: object, executions: object, measurements: object) -> PlanBounds:
    """The ranges of all three numbers.

    Raises:
        InputError: one is none.
    """
    usual = PlanBounds()
    return PlanBounds(
        take_range("builds", builds, usual.builds),
        take_range("executions", executions, usual.executions),
        take_range("measurements", measurements, usual.measurements),
    )


@dataclass(frozen=True, slots=True)
class AskedGoal:
    """The goal as it was asked for, before anything is known of the mean."""

    kind: GoalKind
    size: AskedSize | None
    time: float
    time_in_seconds: bool
    alpha: float
    power: float
    assurance: float | None = None

    def resolve(self, mean: float | None, confidence: float) -> PlanGoal:
        """The goal in the response's unit.

        Raises:
            InputError: it is a share of a mean that is not known.
        """
        value = self.time
        if self.size is not None:
            value = self.size.resolve(mean, self.kind)
        return PlanGoal(self.kind, value, confidence, self.alpha, self.power, self.assurance)


def take_goal(
    half_width: object,
    time: object,
    detect: object,
    alpha: float,
    power: object,
    assurance: object = None,
    *,
    hypothesis: object = None,
) -> AskedGoal:
    """The one goal of several that is given; a half-width of 1% without any.

    Raises:
        InputError: there are two, or one is not understood.
    """
    given = {"half_width": half_width, "time": time, "detect": detect, "hypothesis": hypothesis}
    named = [name for name, value in given.items() if value not in (None, "")]
    if len(named) > 1:
        raise InputError(
            f"{' and '.join(argument(name) for name in named)} are different goals",
            remedy="Give one: a half-width, a time, a difference to detect, or a hypothesis.",
        )
    if not (isinstance(power, Real) and not isinstance(power, bool) and 0 < float(power) < 1):
        raise InputError(
            f"power is {power!r}, not between 0 and 1",
            where=argument("power"),
            remedy="Give a number such as 0.9.",
        )
    if not alpha < float(power):
        raise InputError(
            f"a power of {format_given(float(power))} is no more than chance gives at alpha "
            f"{format_given(alpha)}",
            where=argument("power"),
            remedy="Give a larger one, such as 0.9.",
        )
    kind: GoalKind = "half_width"
    size, seconds, in_seconds = None, 0.0, False
    if named == ["time"]:
        kind = "time"
        seconds, in_seconds = take_duration("time", time)
        if seconds <= 0:
            raise InputError("no time is left to measure in", where=argument("time"), remedy="Give more.")
    elif named == ["detect"]:
        kind, size = "detect", take_size("detect", detect)
    else:
        size = take_size("half_width", half_width if named == ["half_width"] else "1%")
    sure = None if assurance is None or assurance == "" else _take_assurance(assurance)
    if kind == "time" and sure is not None:
        raise InputError(
            "a time is kept whatever the variances are",
            where=argument("assurance"),
            remedy="Leave it out, or ask for a half-width or a difference.",
        )
    return AskedGoal(kind, size, seconds, in_seconds, alpha, float(power), sure)


def _take_assurance(given: object) -> float:
    """A share between 0 and 1, as `80%` or 0.8.

    Raises:
        InputError: it is not one.
    """
    share = -1.0
    if isinstance(given, str) and (match := _SIZE.fullmatch(given)):
        share = float(match[1]) / (100 if match[2] else 1)
    elif isinstance(given, Real) and not isinstance(given, bool):
        share = float(given)
    # Beyond this the draws of the pilot's variances say nothing.
    if not 0 < share <= 0.99:
        raise InputError(
            f"{given!r} is not an assurance above 0 and up to 99%",
            where=argument("assurance"),
            remedy="Write how sure the plan is to be to suffice, such as 80%.",
        )
    return share
