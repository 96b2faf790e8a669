"""The history of a gate: a table of rounds to which each run adds those of the revision that it judged."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from math import isnan
from pathlib import Path

from datamill.analysis.gate.judge_benchmarks import HEAD
from datamill.analysis.sequential.rounds import Rounds
from datamill.experiment.errors import InputError

#: `datamill compare FILE --series` takes these columns as they are.
COLUMNS = (
    "benchmark", "version", "build", "execution", "value", "unit", "direction", "machine", "measured_unix_s",
)  # fmt: skip
#: Of times less is better.
_DIRECTION = "lower"


def check_history(path: Path) -> None:
    """Refuse a file that is no history, before anything is measured.

    Raises:
        InputError: when its first line is another one, or its folder does not exist.
    """
    if not path.absolute().parent.is_dir():
        raise InputError(f"there is no folder {path.parent}", where=str(path), remedy="Make it.")
    if not path.exists() or not path.stat().st_size:
        return
    with path.open(encoding="utf-8", newline="") as file:
        header = next(csv.reader(file), [])
    if tuple(header) != COLUMNS:
        raise InputError(
            "this is not the history of a gate",
            where=str(path),
            remedy=f"Name a new file; the first line of a history is {','.join(COLUMNS)}",
        )


def append_history(
    path: Path, rounds: Mapping[str, Rounds], *, version: str, machine: str, unix_s: int
) -> int:
    """Add a row for each round of head to the history, and return how many there were.

    Args:
        path: of the history, which is made where it does not exist.
        rounds: of each benchmark by its name.
        version: the commit.
        machine: where it was measured.
        unix_s: when.

    A round of another run is another build: its number stands behind the time of its run.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if not path.exists() or not path.stat().st_size:
        writer.writerow(COLUMNS)
    count = 0
    for name, item in rounds.items():
        column = item.values[:, item.packages.index(HEAD)]
        for number, value in zip(item.numbers, column, strict=True):
            if not isnan(value):
                build = f"{unix_s}-{number}"
                measured = (repr(float(value)), "s", _DIRECTION)
                writer.writerow((name, version, build, 1, *measured, machine, unix_s))
                count += 1
    # In one piece: a run that is killed leaves no half of a line that another run would continue.
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(text.getvalue())
    return count
