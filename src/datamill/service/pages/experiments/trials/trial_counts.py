"""How far experiments are, as counts of trials."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Sum

from datamill.service.models import TrialCount
from datamill.service.progress import DONE
from datamill.service.states import ENDED_TRIALS, ExperimentState, TrialPurpose, TrialState, WorkerState

#: How a state looks: good, live, warn, bad or nothing in particular.
STATE_KINDS: dict[str, str] = {
    ExperimentState.DEBUGGING: "live",
    ExperimentState.RUNNING: "live",
    ExperimentState.HELD: "warn",
    ExperimentState.COMPLETED: "good",
    TrialState.LEASED: "live",
    TrialState.COUNTED: "good",
    TrialState.GIVEN_UP: "bad",
    WorkerState.IDLE: "good",
    WorkerState.BUSY: "live",
    WorkerState.AWAY: "warn",
    WorkerState.SILENT: "bad",
    WorkerState.DRAINED: "warn",
    DONE: "good",
    "taken": "live",
    "late": "warn",
    "faulty": "bad",
    "refused": "warn",
    "lost": "bad",
    "completed": "good",
    "failed": "bad",
    "timed_out": "bad",
}
#: What pages call the states of trials, in the order in which they show them.
TRIAL_WORDS: dict[str, str] = {
    TrialState.COUNTED: "counted",
    TrialState.LEASED: "under way",
    TrialState.PLANNED: "planned",
    TrialState.WAITING: "waiting",
    TrialState.GIVEN_UP: "given up",
    TrialState.CANCELLED: "cancelled",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a progress bar, in percent of its length."""

    kind: str
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class TrialCounts:
    """Trials by state."""

    by_state: Mapping[str, int]

    @property
    def total(self) -> int:
        """All trials."""
        return sum(self.by_state.values())

    @property
    def counted(self) -> int:
        """Those that have the record that counts."""
        return self.by_state.get(TrialState.COUNTED, 0)

    @property
    def given_up(self) -> int:
        """Those that will have none."""
        return self.by_state.get(TrialState.GIVEN_UP, 0)

    @property
    def left(self) -> int:
        """Those that have not ended."""
        return sum(count for state, count in self.by_state.items() if state not in ENDED_TRIALS)

    @property
    def percent(self) -> int:
        """Share of trials that counted; 100 only when all are."""
        return self.counted * 100 // self.total if self.total else 0

    @property
    def words(self) -> str:
        """The counts in a sentence."""
        parts = [f"{self.counted} of {self.total} trials counted"]
        for state in (TrialState.LEASED, TrialState.GIVEN_UP, TrialState.CANCELLED):
            if self.by_state.get(state):
                parts.append(f"{self.by_state[state]} {TRIAL_WORDS[state]}")
        return ", ".join(parts)

    @property
    def entries(self) -> list[tuple[str, str, str, int]]:
        """State, its word, how it looks, and how many: of those states that trials have."""
        looks = {
            TrialState.COUNTED: "good",
            TrialState.LEASED: "live",
            TrialState.GIVEN_UP: "bad",
            TrialState.CANCELLED: "gone",
        }
        return [
            (state, word, looks.get(TrialState(state), ""), self.by_state[state])
            for state, word in TRIAL_WORDS.items()
            if self.by_state.get(state)
        ]

    @property
    def pieces(self) -> list[Piece]:
        """The parts of a progress bar; what is left of it is not begun."""
        pieces, start = [], 0.0
        for _, _, kind, count in self.entries:
            if kind:
                width = 100 * count / self.total
                pieces.append(Piece(kind, round(start, 3), round(width, 3)))
                start += width
        return pieces


def count_trials(experiment_ids: Collection[int]) -> dict[int, TrialCounts]:
    """Return the counts of experiments; trials that debug or build are no part of them."""
    found: dict[int, dict[str, int]] = {number: {} for number in experiment_ids}
    rows = (
        TrialCount.objects.filter(experiment__in=experiment_ids, purpose=TrialPurpose.DESIGN, trials__gt=0)
        .order_by()
        .values_list("experiment_id", "state")
        .annotate(count=Sum("trials"))
    )
    for experiment_id, state, count in rows:
        found[experiment_id][state] = count
    return {number: TrialCounts(counts) for number, counts in found.items()}
