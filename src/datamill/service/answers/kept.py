"""What was inferred and rests on trials that have ended, kept until others end."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from datamill.service.coordinator.state.rows import select_rows
from datamill.service.models import FleetExperiment
from datamill.service.states import TrialPurpose

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_STATES = """
    SELECT state, SUM(trials) FROM datamill_trialcount
    WHERE experiment_id = %s AND purpose = %s AND trials > 0 GROUP BY state ORDER BY state
"""

#: An experiment, when it was submitted, and how many of its trials are in which state.
ExperimentKey = tuple[int, float, tuple[tuple[str, int], ...]]


def name_progress(experiment: FleetExperiment) -> ExperimentKey:
    """Return what changes with an experiment's trials: what is inferred from them is kept under it."""
    rows = select_rows(_STATES, (experiment.pk, TrialPurpose.DESIGN.value))
    return experiment.pk, experiment.submitted_unix_s, tuple((state, int(count)) for state, count in rows)


class Kept(Generic[K, V]):
    """The values that were asked for last, by their keys; threads may share it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def recall(self, key: K) -> V | None:
        """Return the value of a key, None when it is not kept."""
        with self._lock:
            if (found := self._values.get(key)) is not None:
                self._values.move_to_end(key)
            return found

    def keep(self, key: K, value: V) -> None:
        """Keep a value, and forget the one that was not asked for longest where there are too many."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._values.clear()
