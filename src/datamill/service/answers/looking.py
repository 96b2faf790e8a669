"""A look at an experiment that grows, when a batch of it has ended: inferred in a process of its own."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from django.db import connection

from datamill.experiment.errors import InputError
from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.decisions import Decision
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.bounded_work.child import Budget
from datamill.service.bounded_work.turns import GoneError
from datamill.service.coordinator.experiments.experiments import enter_decision, hold_unlooked
from datamill.service.models import Attempt, FleetExperiment, Look, Trial
from datamill.service.serving.storage.writer import run_as_writer
from datamill.service.states import AttemptState, TrialPurpose, TrialState

log = logging.getLogger("datamill.coordinator")

#: A look may take so much; larger experiments let batches grow, and have fewer looks.
_LOOKING = Budget(
    memory_bytes=3 << 30,
    cpu_s=300,
    elapsed_s=900.0,
    remedy="Submit it with fewer trials, or with grow in until.",
)
#: Rows that are read from the database at a time.
_ROWS = 2000


@dataclass(frozen=True, slots=True)
class LookedAt:
    """What a look is made of: plans and records of the trials up to a batch, as the database has them.

    `records` are those that count, each with the name of the machine that made it, in the order in which
    they came. `next_trials` are those of the next batch that may still run.
    """

    text: str
    design: bytes
    number: int
    plans: tuple[bytes, ...]
    records: tuple[tuple[str, bytes], ...]
    next_trials: int


def look_at(experiment_id: int, number: int) -> None:
    """Make the look that is due at an experiment, and let it go on or end by it.

    One that cannot be made, such as for want of memory, holds the experiment and says why.
    """
    try:
        decision = call_bounded(_LOOKING, decide, read_looked_at(experiment_id, number))
        run_as_writer(enter_decision, experiment_id, decision, time.time())
    except GoneError:
        # The coordinator ends; the look is due as before when it is there again.
        return
    except (InputError, RuntimeError) as problem:
        log.exception("look %s at experiment %s failed", number, experiment_id)
        told = problem.message if isinstance(problem, InputError) else "its inference failed"
        reason = f"look {number} could not be made: {told}"
        run_as_writer(hold_unlooked, experiment_id, number, reason, time.time())
    finally:
        # This thread may be another one's tomorrow.
        connection.close()


def read_looked_at(experiment_id: int, number: int) -> LookedAt:
    """Read what a look is made of."""
    stored = FleetExperiment.objects.only("text", "design").get(pk=experiment_id)
    ends = dict(
        Look.objects.filter(experiment=experiment_id, number__in=(number, number + 1)).values_list(
            "number", "last_position"
        )
    )
    last = ends[number]
    trials = Trial.objects.filter(experiment=experiment_id, purpose=TrialPurpose.DESIGN)
    plans = trials.filter(position__lte=last).order_by("position").values_list("plan", flat=True)
    records = Attempt.objects.filter(
        trial__experiment=experiment_id,
        trial__purpose=TrialPurpose.DESIGN,
        trial__position__lte=last,
        state=AttemptState.COUNTED,
    ).order_by("ended_unix_s", "pk")
    following = trials.filter(position__gt=last, position__lte=ends.get(number + 1, last))
    return LookedAt(
        stored.text,
        bytes(stored.design),
        number,
        tuple(bytes(plan) for plan in plans.iterator(chunk_size=_ROWS)),
        tuple(
            (worker, bytes(record or b""))
            for worker, record in records.values_list("worker__name", "record").iterator(chunk_size=_ROWS)
        ),
        following.filter(state=TrialState.WAITING).count(),
    )


def decide(seen: LookedAt) -> Decision:
    """Decide by what was seen whether an experiment goes on; runs in a process of its own.

    The time that it took is that of the machine whose trials and builds took longest.

    Raises:
        InputError: when the records say nothing that can be looked at.
    """
    # Statistics take a second to load, and memory that the coordinator need not have.
    import numpy as np

    from datamill.analysis.sequential.look import decide_look
    from datamill.analysis.sequential.rounds import Rounds, gather_rounds
    from datamill.design.design import Design, PlannedTrial
    from datamill.experiment.file.parse import parse_experiment
    from datamill.results.judgement.judged_attempts import JudgedAttempt, JudgedAttempts
    from datamill.results.tables.table import build_table

    experiment = parse_experiment(seen.text, name="experiment.toml")
    trials = tuple(msgspec.json.decode(plan, type=PlannedTrial) for plan in seen.plans)
    design = replace(msgspec.json.decode(seen.design, type=Design), trials=trials)
    made = [(machine, msgspec.json.decode(raw, type=TrialRecord)) for machine, raw in seen.records]
    records = [record for _, record in made]
    if records:
        judged = JudgedAttempts(
            Path(),
            tuple(JudgedAttempt(item.trial_id, item.attempt, machine, counts=True) for machine, item in made),
        )
        rounds = gather_rounds(experiment, design, build_table(experiment, design, records, judged))
    else:
        packages = tuple(package.name for package in experiment.packages)
        rounds = Rounds(packages, (), np.empty((0, len(packages))))
    return decide_look(
        experiment,
        rounds,
        look=seen.number,
        trials=len(trials),
        elapsed_s=_measure_time(made),
        next_trials=seen.next_trials,
    )


def _measure_time(made: list[tuple[str, TrialRecord]]) -> float:
    """Return the time in seconds that trials and builds took on the machine where they took longest."""
    elapsed_ns: dict[str, int] = defaultdict(int)
    builds: set[tuple[str, str]] = set()
    for machine, record in made:
        elapsed_ns[machine] += record.ended_unix_ns - record.started_unix_ns
        build = record.build
        if (
            build is not None
            and build.policy == "shared"
            and build.setup
            and (machine, build.id) not in builds
        ):
            builds.add((machine, build.id))
            elapsed_ns[machine] += build.setup.wall_time_ns
    return max(elapsed_ns.values(), default=0) / 1e9
