"""What a seed makes of a fleet: its size, its experiments, and which faults it suffers how often.

Each seed draws which faults there are at all (swarm testing: Groce et al., ISSTA 2012): where everything
fails at once, nothing gets far enough to fail in an interesting way.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

FaultKind = Literal[
    # machines
    "power_cut", "power_cut_at_sync", "agent_killed", "agent_dismissed", "boot_never_ends",
    "boot_takes_hours", "disk_full", "clock_skew", "reinstalled", "cloned", "policy_changed",
    "poison_package", "failing_worker",
    # network
    "partition", "report_lost", "report_late", "report_twice", "orders_lost", "status_lost", "status_late",
    "upload_failed",
    # what no honest worker sends
    "garbage", "forged", "damaged_record", "oversized", "hostile",
    # coordinator and database
    "crash_at_statement", "crash_after_commit", "crash_before_publish", "crash_before_mark",
    "database_restart", "commit_unanswered", "long_absence",
    # broker
    "broker_restart", "broker_power_cut",
    # people
    "drain", "resume", "remove", "cancel", "release", "late_joiner", "bad_enrolment",
]  # fmt: skip
ALL_FAULTS: tuple[FaultKind, ...] = FaultKind.__args__  # type: ignore[attr-defined]

#: Faults that strike at a moment of their own; the value is the mean number in a seed that has them.
TIMED_FAULTS: dict[FaultKind, float] = {
    "power_cut": 4, "agent_killed": 3, "agent_dismissed": 3, "disk_full": 3, "clock_skew": 2,
    "reinstalled": 0.7, "cloned": 0.7, "policy_changed": 1, "partition": 3, "garbage": 4, "forged": 4,
    "oversized": 1, "hostile": 1, "long_absence": 0.7,
    "broker_restart": 2.5, "broker_power_cut": 2,
    "drain": 2, "resume": 1, "remove": 0.7, "cancel": 0.5, "release": 0.5,
    "late_joiner": 1, "bad_enrolment": 2,
}  # fmt: skip
#: Faults that strike whenever there is an occasion; the value is the largest chance at each.
CHANCE_FAULTS: dict[FaultKind, float] = {
    "power_cut_at_sync": 0.05, "boot_never_ends": 0.02, "boot_takes_hours": 0.05, "report_lost": 0.2,
    "orders_lost": 0.2, "report_late": 0.2, "report_twice": 0.2, "status_lost": 0.5, "status_late": 0.3,
    "upload_failed": 0.2, "damaged_record": 0.1, "crash_at_statement": 0.1, "crash_after_commit": 0.1,
    "crash_before_publish": 0.1, "crash_before_mark": 0.1, "database_restart": 0.1,
    "commit_unanswered": 0.1,
}  # fmt: skip
LARGE_FLEET = 2000
#: One seed in so many has a large fleet.
LARGE_EVERY = 1000


@dataclass(frozen=True, slots=True)
class Scenario:
    """The fleet of a seed and its faults.

    `chances` are those of `CHANCE_FAULTS` that this seed has; `timed` the faults that strike at a moment of
    their own, at seconds after the beginning. After `faults_end_s` nothing fails any more.
    """

    seed: int
    workers: int
    experiments: int
    most_trials: int
    batch_delay_s: float
    faults_end_s: float
    timed: tuple[tuple[float, FaultKind], ...]
    chances: dict[FaultKind, float]
    poison: bool
    failing_workers: int

    def random(self, *name: object) -> Random:
        """Return a source of chance of its own, so that what one part draws does not move the others."""
        return Random(f"{self.seed}:{':'.join(map(str, name))}")


def draw_scenario(seed: int) -> Scenario:
    random = Random(f"{seed}:scenario")
    large = seed % LARGE_EVERY == LARGE_EVERY - 1
    workers = LARGE_FLEET if large else round(3 * (40 / 3) ** (random.random() ** 2))
    faults_end_s = random.uniform(1800.0, 12_000.0)
    calm = random.random() < 0.05
    mood = random.choice((0.2, 0.4, 0.6))
    chosen = {kind for kind in ALL_FAULTS if random.random() < mood and not calm}
    timed = []
    for kind, mean in TIMED_FAULTS.items():
        count = 0
        while random.random() < mean / (1 + mean):
            count += 1
        if kind in chosen:
            # Most of them while there is most to do.
            timed += [(random.triangular(0.0, faults_end_s, 0.2 * faults_end_s), kind) for _ in range(count)]
    chances = {kind: most * random.random() ** 2 for kind, most in CHANCE_FAULTS.items() if kind in chosen}
    return Scenario(
        seed=seed,
        workers=workers,
        experiments=random.choice((1, 1, 2, 3)),
        most_trials=2 * LARGE_FLEET if large else random.choice((6, 10, 16, 24)),
        batch_delay_s=random.choice((0.02, 1.0, 5.0)),
        faults_end_s=faults_end_s,
        timed=tuple(sorted(timed)),
        chances=chances,
        poison="poison_package" in chosen,
        failing_workers=random.choice((1, 1, 2)) if "failing_worker" in chosen else 0,
    )
