"""How often trials on a machine were disturbed: its latest trials, judged by the rules of the report."""

from __future__ import annotations

import contextlib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import OuterRef, Subquery

from datamill.experiment.errors import InputError
from datamill.protocol.trial import TrialRecord
from datamill.results.judgement.doubts import judge_disturbances
from datamill.results.trials.log import decode_record
from datamill.service.answers.kept import Kept
from datamill.service.models import Attempt, FleetWorker
from datamill.service.states import AttemptState

#: Trials that are judged: the latest that count.
MOST_JUDGED = 200
#: The 97.5th percentile of the standard normal distribution.
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class MachineNoise:
    """The share of a machine's latest trials that were disturbed, with its 95% interval.

    `disturbed` of `judged` trials broke a rule of `results/judgement/doubts`, each looked at beside the
    others of its experiment; `rules` are those that were broken, the most frequent first. The interval is
    Wilson's (1927) of a share; it takes trials as independent of each other, and is too narrow where
    disturbances last. Where no trial tells, `judged` is 0.
    """

    judged: int
    disturbed: int
    low: float
    high: float
    rules: tuple[str, ...]

    @property
    def share(self) -> float:
        """The disturbed trials over those that were judged."""
        return self.disturbed / self.judged if self.judged else 0.0


_kept: Kept[tuple[str, int], MachineNoise] = Kept(4096)


def judge_machine(worker_id: str) -> MachineNoise:
    """Return how noisy a machine was of late; kept until another of its trials counts."""
    latest = _find_latest(worker_id)
    if not latest:
        return judge_records([])
    key = worker_id, latest[0]
    if (kept := _kept.recall(key)) is not None:
        return kept
    found = judge_records(_decode(latest))
    _kept.keep(key, found)
    return found


def recall_noises(worker_ids: Collection[str]) -> dict[str, MachineNoise]:
    """Return what is known already of machines' noise; who has yet to be judged has no entry."""
    counted = Attempt.objects.filter(worker_id=OuterRef("pk"), state=AttemptState.COUNTED).order_by("-id")
    rows = (
        FleetWorker.objects.filter(pk__in=worker_ids)
        .annotate(latest=Subquery(counted.values("pk")[:1]))
        .values_list("pk", "latest")
    )
    nothing = judge_records([])
    found = {pk: nothing if latest is None else _kept.recall((pk, latest)) for pk, latest in rows}
    return {pk: noise for pk, noise in found.items() if noise is not None}


def judge_records(experiments: Iterable[Sequence[TrialRecord]]) -> MachineNoise:
    """Return how many of a machine's trials were disturbed, given the records of each experiment."""
    judged = disturbed = 0
    rules: Counter[str] = Counter()
    for records in experiments:
        telling = [
            record
            for record in records
            if record.outcome == "completed" and record.run is not None and record.disturbance is not None
        ]
        doubts = judge_disturbances(telling)
        judged, disturbed = judged + len(telling), disturbed + len(doubts)
        rules.update(doubt.rule for found in doubts.values() for doubt in found)
    low, high = _bound_share(disturbed, judged) if judged else (0.0, 1.0)
    return MachineNoise(judged, disturbed, low, high, tuple(rule for rule, _ in rules.most_common(3)))


def _find_latest(worker_id: str) -> list[int]:
    found = Attempt.objects.filter(worker_id=worker_id, state=AttemptState.COUNTED)
    return list(found.order_by("-id").values_list("pk", flat=True)[:MOST_JUDGED])


def _decode(attempts: Sequence[int]) -> Iterable[list[TrialRecord]]:
    found: dict[int, list[TrialRecord]] = defaultdict(list)
    rows = Attempt.objects.filter(pk__in=attempts).values_list("trial__experiment_id", "key", "record")
    for experiment, key, record in rows:
        if record is None:
            continue
        # A record of an earlier version, or no record at all, says nothing about the machine.
        with contextlib.suppress(InputError):
            found[experiment].append(decode_record(bytes(record), where=key))
    return found.values()


def _bound_share(count: int, n: int) -> tuple[float, float]:
    share = count / n
    middle = share + _Z * _Z / (2 * n)
    reach = _Z * math.sqrt(share * (1 - share) / n + (_Z / (2 * n)) ** 2)
    whole = 1 + _Z * _Z / n
    return max(0.0, (middle - reach) / whole), min(1.0, (middle + reach) / whole)
