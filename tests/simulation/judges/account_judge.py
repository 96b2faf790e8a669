"""Whether the table of events has everything that it must have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from simulation.evidence.tables import ENDED_EXPERIMENTS, Read, WorkerRow

#: Ends of an attempt that the table of events must have.
FAULTY_ENDS = ("lost", "faulty", "refused", "late")


def check_account(
    read: Read,
    object_to: Callable[[str], None],
    workers: Mapping[str, WorkerRow],
    skewed: set[str],
    garbage: set[str],
    doubtful: set[str],
) -> None:
    """Look for what no event tells.

    Args:
        read: reads tables past Django.
        object_to: takes what is wrong, as a sentence.
        workers: all workers.
        skewed: those whose clocks are off, as their hellos said.
        garbage: those that sent what cannot be used.
        doubtful: those that may be two machines, or claim to be.
    """
    told = {
        (attempt, worker_id)
        for attempt, worker_id in read(
            "SELECT attempt, worker_id FROM datamill_event WHERE user != '' AND package_sha256 != ''"
        )
    }
    ends = defaultdict(set)
    for attempt, kind in read("SELECT attempt, kind FROM datamill_event WHERE attempt != ''"):
        ends[attempt].add(kind)
    for key, state, worker_id in read("SELECT key, state, worker_id FROM datamill_attempt"):
        if (key, worker_id) not in told:
            object_to(f"no event says for whom and with which package {worker_id} made {key}")
        if state in FAULTY_ENDS and not any(state in kind for kind in ends[key]):
            object_to(f"no event says that {key} is {state}, only {', '.join(sorted(ends[key]))}")
    told_of = defaultdict(set)
    for worker_id, kind in read("SELECT worker_id, kind FROM datamill_event WHERE worker_id != ''"):
        told_of[worker_id].add(kind)
    for worker_id in skewed:
        if workers[worker_id].state != "removed" and not any("clock" in kind for kind in told_of[worker_id]):
            object_to(f"no event says that the clock of {worker_id} is off")
    for worker_id in garbage:
        if not any("refus" in kind or "report" in kind for kind in told_of[worker_id]):
            object_to(f"no event says that a report of {worker_id} could not be used")
    for worker_id, state in read("SELECT worker_id, state FROM datamill_worker"):
        twins = "worker is two machines" in told_of[worker_id]
        if twins and worker_id not in doubtful:
            object_to(f"{worker_id} is one machine and was taken for two")
        reasons = (state[:5], "two machines") if state == "drained" else (state,)
        if state in ("drained", "removed") and not any(
            reason in kind for kind in told_of[worker_id] for reason in reasons
        ):
            object_to(f"no event says that {worker_id} is {state}")
    for experiment, state in read("SELECT id, state FROM datamill_experiment"):
        rows = read("SELECT kind FROM datamill_event WHERE experiment_id = ?", (experiment,))
        if state in ENDED_EXPERIMENTS and not any(state[:6] in kind for (kind,) in rows):
            object_to(f"no event says that experiment {experiment} is {state}")
