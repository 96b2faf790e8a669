"""Which benchmarks must run for a commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from datamill.selection.changes.table_changes import TableChanges, compare_tables
from datamill.selection.features.vector import read_features
from datamill.selection.history.pair_cases import make_case
from datamill.selection.history.records import Version
from datamill.selection.indicators.evidence import Evidence, Reading
from datamill.selection.indicators.registry import read_indicators
from datamill.selection.prediction.direction import Direction
from datamill.selection.prediction.magnitude import Magnitude
from datamill.selection.prediction.trained_model import TrainedModel
from datamill.selection.predictors.case import Case
from datamill.selection.predictors.models.guarded import is_seen
from datamill.selection.profiles.profile import Profile
from datamill.selection.tables.function_table import FunctionTable

#: Functions that are named of an indicator.
_MOST_FUNCTIONS = 20


@dataclass(frozen=True, slots=True)
class FiredIndicator:
    """An indicator that reached its threshold, with the functions behind it, the weightiest first.

    `threshold` is None where the history has none for it, and the indicator is above 0.
    """

    name: str
    value: float
    threshold: float | None
    functions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BenchmarkPrediction:
    """Whether a benchmark must run.

    `probability` is that of a change: None where nothing could be predicted, and 1 or 0 of a predictor that
    knows nothing between. `magnitude` is how large a change would be; None of one that is skipped, and where
    no interval holds. `reason` says in a sentence why, where it is not the model's word.
    """

    benchmark: str
    run: bool
    probability: float | None
    direction: Direction
    indicators: tuple[FiredIndicator, ...] = ()
    reason: str = ""
    features: Mapping[str, float] | None = None
    magnitude: Magnitude | None = None


@dataclass(frozen=True, slots=True)
class CommitPrediction:
    """What is predicted of a commit against an earlier version; `changes` is None where they are the same."""

    commit: str
    against: str
    hops: int
    predictions: tuple[BenchmarkPrediction, ...]
    changes: TableChanges | None = None
    warnings: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[BenchmarkPrediction, ...]:
        """Benchmarks that must run."""
        return tuple(item for item in self.predictions if item.run)


def predict_commit(
    trained: TrainedModel,
    old: Version,
    new: Version,
    tables: tuple[FunctionTable, FunctionTable],
    profiles: Mapping[str, Profile],
    benchmarks: Sequence[str],
    between: Mapping[str, float],
) -> CommitPrediction:
    """Predict which benchmarks must run for a version against an older one that was profiled.

    Programs that hold the same code and data skip every benchmark. A benchmark without a profile runs, since
    nothing is known of it. `between` are features of the pair (`pair_cases.describe_distance`).
    """
    warnings = (*trained.warnings, *dict.fromkeys((*tables[0].lost, *tables[1].lost)))
    if old.program == new.program:
        reason = "the binaries hold the same code and data"
        same = [BenchmarkPrediction(name, False, 0.0, "unknown", reason=reason) for name in benchmarks]
        return CommitPrediction(new.commit, old.commit, new.hops, tuple(same), None, warnings)
    changes = compare_tables(*tables)
    told = []
    for name in benchmarks:
        profile = profiles.get(name)
        if profile is None:
            reason = "the older version has no profile of it"
            # A size is one of the history, whatever the benchmark executes.
            size = trained.magnitude
            told.append(BenchmarkPrediction(name, True, None, "unknown", reason=reason, magnitude=size))
            continue
        evidence = Evidence(changes, profile)
        features = {**read_features(evidence), **between}
        case = make_case(name, old, new, features)
        found = predict_case(trained, case, read_indicators(evidence))
        told.append(replace(found, features=features))
    return CommitPrediction(new.commit, old.commit, new.hops, tuple(told), changes, warnings)


def predict_case(trained: TrainedModel, case: Case, readings: Mapping[str, Reading]) -> BenchmarkPrediction:
    """Predict whether a case changed, and name the indicators that speak for it."""
    run = trained.model.decides(case)
    fired = tuple(
        FiredIndicator(
            item.indicator,
            readings[item.indicator].value,
            item.least,
            readings[item.indicator].functions[:_MOST_FUNCTIONS],
        )
        for item in trained.perphecy.fired(case)
        # Where all of a history changed, its thresholds are 0, which says nothing of this case.
        if item.indicator in readings and readings[item.indicator].value > 0
    )
    if run and not fired:
        fired = tuple(
            FiredIndicator(name, reading.value, None, reading.functions[:_MOST_FUNCTIONS])
            for name, reading in readings.items()
            if reading.value > 0
        )
    reason = ""
    if not is_seen(case) and not run:
        reason = "no function, data or option differs"
    elif run and not fired:
        reason = "no indicator is above 0: by the other features, which explain lists"
    return BenchmarkPrediction(
        benchmark=case.benchmark,
        run=run,
        probability=trained.model.score(case),
        direction=trained.direction.tell(dict(case.features)),
        indicators=fired,
        reason=reason,
        magnitude=trained.magnitude if run else None,
    )
