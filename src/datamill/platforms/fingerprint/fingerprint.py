"""A fingerprint of an application: its times, and the suite's scores where it was measured."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns, list_first
from datamill.platforms.scores.score_matrix import ApplicationTimes, ScoreMatrix

_MOST_NAMED = 5
#: Relative difference from which a score on a machine is another one than the fingerprint's.
_ANOTHER = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprint:
    """Times of the application on its machines, and the suite's scores there; `strategy` may be empty."""

    application: ApplicationTimes
    suite: ScoreMatrix
    strategy: str

    @property
    def digest(self) -> str:
        """SHA-256 of all names and numbers: equal where the fingerprints are."""
        parts = [self.application.name, self.application.kind, self.suite.kind, self.strategy]
        parts += [*self.application.machines, *self.suite.machines, *self.suite.benchmarks]
        numbers = (
            self.application.seconds,
            self.application.noise,
            self.suite.seconds.ravel(),
            self.suite.noise.ravel(),
        )
        parts += ["nan" if np.isnan(value) else repr(float(value)) for part in numbers for value in part]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class JoinedScores:
    """Scores with a fingerprint's machines among them, and sentences about what did not fit."""

    matrix: ScoreMatrix
    notes: tuple[str, ...]


def take_fingerprint(matrix: ScoreMatrix, application: ApplicationTimes, strategy: str = "") -> Fingerprint:
    """The fingerprint of an application on the machines of a suite."""
    return Fingerprint(application, matrix.keep_machines(application.machines), strategy)


def join_scores(fingerprint: Fingerprint, matrix: ScoreMatrix, source: str) -> JoinedScores:
    """The scores with those machines of the fingerprint added that they lack.

    Both keep the benchmarks that they have in common. A machine of both has the fingerprint's scores.

    Raises:
        InputError: they have no two benchmarks in common, or scores of one are seconds in the other.
    """
    suite = fingerprint.suite
    common = [name for name in suite.benchmarks if name in set(matrix.benchmarks)]
    if len(common) < 2:
        raise InputError(
            f"the scores have {count_nouns(len(common), 'benchmark')} of the fingerprint's "
            f"{len(suite.benchmarks)}: {list_first(suite.benchmarks, _MOST_NAMED)}",
            where=source,
            remedy="Give scores of the same suite.",
        )
    if suite.kind != matrix.kind:
        raise InputError(
            f"the scores are {matrix.kind}, those of the fingerprint {suite.kind}",
            where=source,
            remedy="Give both as seconds, or both as scores.",
        )
    ours, theirs = suite.keep_benchmarks(common), matrix.keep_benchmarks(common)
    notes = []
    if len(common) < len(suite.benchmarks):
        missing = [name for name in suite.benchmarks if name not in common]
        notes.append(f"the scores lack {list_first(missing, _MOST_NAMED)} of the fingerprint's benchmarks")
    changed = _find_changed(ours, theirs)
    if changed:
        notes.append(
            f"the scores of {list_first(changed, _MOST_NAMED)} are others than when the fingerprint was "
            "taken: "
            "the fingerprint's are used"
        )
    return JoinedScores(_add_machines(ours, theirs), tuple(notes))


def _find_changed(ours: ScoreMatrix, theirs: ScoreMatrix) -> list[str]:
    known = set(theirs.machines)
    changed = []
    for row, name in enumerate(ours.machines):
        if name not in known:
            continue
        there = theirs.seconds[theirs.machines.index(name)]
        if not np.allclose(ours.seconds[row], there, rtol=_ANOTHER, atol=0, equal_nan=True):
            changed.append(name)
    return changed


def _add_machines(ours: ScoreMatrix, theirs: ScoreMatrix) -> ScoreMatrix:
    others = [name for name in theirs.machines if name not in set(ours.machines)]
    rest = theirs.keep_machines(others)
    facts = {
        name: np.concatenate([_find_facts(theirs, name, ours.machines), rest.facts[name]])
        for name in theirs.facts
    }
    families: tuple[str, ...] = ()
    if theirs.families:
        places = {name: index for index, name in enumerate(theirs.machines)}
        first = tuple(theirs.families[places[name]] if name in places else "" for name in ours.machines)
        families = (*first, *rest.families)
    return replace(
        ours,
        machines=(*ours.machines, *others),
        seconds=np.concatenate([ours.seconds, rest.seconds]),
        noise=np.concatenate([ours.noise, rest.noise]),
        facts=facts,
        families=families,
    )


def _find_facts(
    matrix: ScoreMatrix, name: str, machines: Sequence[str]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    places = {machine: index for index, machine in enumerate(matrix.machines)}
    values = matrix.facts[name]
    return np.array([values[places[item]] if item in places else np.nan for item in machines])
