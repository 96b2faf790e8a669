"""Whether machines that are able count as able: who serves in peace is neither silent nor away for long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

#: Time between two looks, in seconds, and looks over which nothing changed after which a worker is known.
LOOK_EVERY_S = 900.0
LOOKS = 8


class AbilityJudge:
    """Counts for how many looks each machine has served without a break.

    Args:
        object_to: takes what is wrong, as a sentence.
    """

    def __init__(self, object_to: Callable[[str], None]) -> None:
        self._object = object_to
        self._served: dict[str, tuple[object, int]] = {}

    def look(self, serving: Iterable[tuple[str, str, object]], states: Mapping[str, str]) -> None:
        """Look once more.

        Args:
            serving: name, worker and connection of each machine that serves, and nothing keeps from it.
            states: what the coordinator thinks of each worker.
        """
        served = {}
        for name, worker_id, connection in serving:
            before, looks = self._served.get(name, (None, 0))
            served[name] = (connection, looks + 1 if connection == before else 1)
            if served[name][1] > LOOKS and states.get(worker_id) in ("silent", "away"):
                hours = LOOKS * LOOK_EVERY_S / 3600.0
                self._object(f"{worker_id} is {states[worker_id]}, though it has served for {hours:.1f} h")
        self._served = served
