"""Planned trials in a file: millions of them need not be in memory at once."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from datamill.design.design import PlannedTrial

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(PlannedTrial)
_LINES_A_WRITE = 1000
_FOLDER = "plans"


def name_trials_file(folder: Path) -> Path:
    """Return a new name in the coordinator's folder for trials on their way into the database."""
    _make_folder(folder)
    return folder / _FOLDER / f"{uuid.uuid4().hex}.jsonl"


def drop_trials_files(folder: Path) -> None:
    """Remove what a coordinator left that was killed."""
    for path in _make_folder(folder).iterdir():
        path.unlink(missing_ok=True)


def _make_folder(folder: Path) -> Path:
    plans = folder / _FOLDER
    plans.mkdir(parents=True, exist_ok=True)
    return plans


def write_trials(path: Path, trials: Iterable[PlannedTrial]) -> None:
    """Write trials to a file, one a line."""
    with path.open("wb") as file:
        lines: list[PlannedTrial] = []
        for trial in trials:
            lines.append(trial)
            if len(lines) == _LINES_A_WRITE:
                file.write(_ENCODER.encode_lines(lines))
                lines.clear()
        file.write(_ENCODER.encode_lines(lines))


class StoredTrials(Collection[PlannedTrial]):
    """The trials of a file, in their order.

    Args:
        path: the file.
        count: how many there are.
    """

    def __init__(self, path: Path, count: int) -> None:
        self._path = path
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[PlannedTrial]:
        with self._path.open("rb") as file:
            for line in file:
                yield _DECODER.decode(line)

    def __contains__(self, trial: object) -> bool:
        return any(trial == other for other in self)
