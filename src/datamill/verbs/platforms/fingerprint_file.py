"""The file of a fingerprint: JSON with the application's times, the suite's scores and a digest."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from datamill.experiment.errors import InputError
from datamill.platforms.fingerprint.fingerprint import Fingerprint
from datamill.platforms.scores.score_matrix import ApplicationTimes, FloatArray, ScoreKind, ScoreMatrix
from datamill.report.tables.envelope import write_json

_FORMAT = 1


class _Application(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    kind: Literal["seconds", "score"]
    machines: list[str]
    values: list[float]
    noise: list[float | None]


class _Suite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: Literal["seconds", "score"]
    machines: list[str]
    benchmarks: list[str]
    seconds: list[list[float | None]]
    noise: list[list[float | None]]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fingerprint: int
    application: _Application
    suite: _Suite
    strategy: str
    digest: str


def write_fingerprint(fingerprint: Fingerprint, file: Path) -> None:
    """Write a fingerprint.

    Raises:
        OSError: the file cannot be written.
    """
    application, suite = fingerprint.application, fingerprint.suite
    content = _File(
        _FORMAT,
        _Application(
            application.name,
            application.kind,
            list(application.machines),
            application.seconds.tolist(),
            application.noise.tolist(),
        ),
        _Suite(
            suite.kind,
            list(suite.machines),
            list(suite.benchmarks),
            suite.seconds.tolist(),
            suite.noise.tolist(),
        ),
        fingerprint.strategy,
        fingerprint.digest,
    )
    file.write_text(write_json(msgspec.to_builtins(content)) + "\n", encoding="utf-8")


def read_fingerprint(file: Path) -> Fingerprint:
    """Read a fingerprint that `write_fingerprint` wrote.

    Raises:
        InputError: there is no such file, it is no fingerprint, or it was changed since.
    """
    if not file.is_file():
        raise InputError("there is no such file", where=str(file), remedy="Check the path.")
    try:
        content = msgspec.json.decode(file.read_bytes(), type=_File)
    except msgspec.DecodeError as error:
        raise InputError(
            f"this is not a fingerprint: {error}",
            where=str(file),
            remedy="Give the file that datamill platforms fit saved.",
        ) from None
    if content.fingerprint != _FORMAT:
        raise InputError(
            f"the fingerprint has format {content.fingerprint}, this datamill reads {_FORMAT}",
            where=str(file),
            remedy="Save it again with this datamill.",
        )
    application, suite = content.application, content.suite
    try:
        found = Fingerprint(
            _build_application(application),
            ScoreMatrix(
                tuple(suite.machines),
                tuple(suite.benchmarks),
                _build_array(suite.seconds, (len(suite.machines), len(suite.benchmarks))),
                _build_array(suite.noise, (len(suite.machines), len(suite.benchmarks))),
                suite.kind,
            ),
            content.strategy,
        )
        whole = found.digest == content.digest
    except ValueError:
        whole = False
    if not whole:
        raise InputError(
            "the file was changed after it had been saved: its digest is another one",
            where=str(file),
            remedy="Save the fingerprint again.",
        )
    return found


def _build_application(content: _Application) -> ApplicationTimes:
    kind: ScoreKind = content.kind
    count = len(content.machines)
    values = _build_array([list(content.values)], (1, count))[0]
    noise = _build_array([content.noise], (1, count))[0]
    return ApplicationTimes(content.name, tuple(content.machines), values, noise, kind)


def _build_array(rows: list[list[float | None]] | list[list[float]], shape: tuple[int, int]) -> FloatArray:
    return np.array(
        [[math.nan if value is None else value for value in row] for row in rows], dtype=np.float64
    ).reshape(shape)
