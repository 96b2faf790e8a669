"""What becomes of the trials of an experiment: they count, fail, print, or wait for a person."""

from __future__ import annotations

import json
import random
import time
from types import SimpleNamespace
from typing import Any

import msgspec
from browser.made_fleet.submissions import store

#: Text that must run nowhere.
HOSTILE = '<script>document.title="hacked"</script>'


def lease(trial: Any, now: float, number: int = 1) -> Any:
    """Begin an attempt."""
    from datamill.service.models import Attempt
    from datamill.service.states import AttemptState, TrialState, WorkerState

    trial.state, trial.attempts = TrialState.LEASED, number
    trial.save()
    attempt = Attempt.objects.create(
        trial=trial,
        number=number,
        key=f"{trial.experiment_id}.{trial.trial_id}.{number}",
        worker=trial.worker,
        state=AttemptState.LEASED,
        leased_unix_s=now - 30,
        deadline_unix_s=now + 3000,
    )
    attempt.state, attempt.taken_unix_s = AttemptState.TAKEN, now - 25
    attempt.save()
    trial.worker.state = WorkerState.BUSY
    trial.worker.save()
    return attempt


def end(attempt: Any, now: float, state: str, **fields: Any) -> None:
    """End an attempt, and its trial with it if it counts."""
    from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
    from datamill.service.states import TrialState, WorkerState

    attempt.state, attempt.ended_unix_s = state, now
    for name, value in fields.items():
        setattr(attempt, name, value)
    attempt.save()
    trial = attempt.trial
    trial.state = TrialState.COUNTED if state == "counted" else TrialState.PLANNED
    trial.save()
    trial.worker.state = WorkerState.IDLE
    trial.worker.save()
    event = NewEvent(
        EventKind(f"attempt {state}"),
        worker_id=trial.worker_id,
        experiment_id=trial.experiment_id,
        attempt=attempt.key,
        package_sha256=trial.package_sha256,
        detail=attempt.reason or f"Trial {trial.trial_id} has its record.",
    )
    add_events([event], now)


def count_trials(experiment_id: int, most: int, *, finish: bool = False) -> None:
    """Let trials of an experiment count, and it complete if it is to finish."""
    from datamill.service.models import Artifact, FleetExperiment, StoredFile, Trial

    now = time.time()
    for trial in Trial.objects.filter(experiment=experiment_id, state="planned", purpose="design").order_by(
        "id"
    )[:most]:
        attempt = lease(trial, now)
        record = {
            "outcome": "completed",
            "run": {"wall_time_ns": 2_500_000_000},
            "notices": [],
            "failure": None,
        }
        end(attempt, now, "counted", outcome="completed", record=json.dumps(record).encode())
        if trial.position == 1:
            sha256 = store(b"<script>alert(1)</script>\n", "run.stdout", "artifact", None)
            Artifact.objects.create(
                attempt=attempt, name="run.stdout", file=StoredFile.objects.get(pk=sha256)
            )
    if finish:
        FleetExperiment.objects.filter(pk=experiment_id).update(state="completed", ended_unix_s=now)


def measure_trials(experiment_id: int) -> None:
    """Let all trials of an experiment count with records that its answer can be made of: xz is faster."""
    from integration.service.fleets import make_phase, make_record

    from datamill.results.bundles.trial_spec import specify_trial
    from datamill.service.coordinator.leasing.leases import decode_planned_trial, load_stored_experiments
    from datamill.service.models import Attempt, FleetExperiment, FleetWorker, Trial

    question = load_stored_experiments([experiment_id])[experiment_id]
    # Another execution has other times, and begins later.
    noise, now = random.Random(18 + experiment_id), time.time()
    open_attempts = Attempt.objects.filter(state__in=["leased", "taken"])
    held = list(open_attempts.order_by("worker_id").values_list("worker_id", flat=True))
    planned_on = Trial.objects.filter(experiment=experiment_id).values("worker_id")
    spares = list(
        FleetWorker.objects.filter(state="idle").exclude(pk__in=planned_on).values_list("pk", flat=True)
    )
    for trial in Trial.objects.filter(experiment=experiment_id, purpose="design").order_by("id"):
        if trial.worker_id in held:
            # Another experiment's trial holds its machine: a spare makes this one.
            trial.worker_id = spares[held.index(trial.worker_id)]
        attempt = lease(trial, now)
        planned = decode_planned_trial(bytes(trial.plan))
        spec = specify_trial(question.experiment, question.head, planned, 1, locate=lambda _: "")
        seconds = 2.0 * noise.lognormvariate(0.0, 0.03)
        seconds *= 1.2 if spec.package.name == "bzip2" else 1.0
        seconds *= 0.7 if spec.levels.get("optimization") == "-O2" else 1.0
        record = make_record(
            SimpleNamespace(spec=spec),  # type: ignore[arg-type]
            run=make_phase(wall_time_ns=round(seconds * 1e9)),
            started_unix_ns=experiment_id,
            ended_unix_ns=experiment_id + round(seconds * 1e9),
        )
        end(attempt, now, "counted", outcome="completed", record=msgspec.json.encode(record))
    FleetExperiment.objects.filter(pk=experiment_id).update(state="completed", ended_unix_s=now)


def fail_attempt(experiment_id: int) -> None:
    """Lose an attempt at a trial, and begin the next."""
    from datamill.service.models import Trial

    trial = Trial.objects.filter(experiment=experiment_id, state="planned").order_by("id").first()
    assert trial is not None
    end(lease(trial, time.time()), time.time(), "lost", reason=f"The machine went down in it: {HOSTILE}")
    lease(trial, time.time(), 2)


def start_debugging(experiment_id: int) -> None:
    """Begin the debug trials, with output."""
    from datamill.service.models import OutputPiece, Trial

    for trial in Trial.objects.filter(experiment=experiment_id, purpose="debug"):
        attempt = lease(trial, time.time())
        OutputPiece.objects.create(
            attempt=attempt, number=1, phase="setup", text=f"gcc -O2 -c xz.c\n{HOSTILE}\n"
        )
        break


def hold(experiment_id: int) -> None:
    """Let a debug trial fail, so that its experiment waits for a person."""
    from datamill.service.models import FleetExperiment, OutputPiece, Trial

    for trial in Trial.objects.filter(experiment=experiment_id, purpose="debug"):
        if trial.worker.name == "lab-1" or Trial.objects.filter(state="leased", worker=trial.worker).exists():
            continue
        attempt = lease(trial, time.time())
        OutputPiece.objects.create(
            attempt=attempt, number=1, phase="run", text="bzip2: I can't find corpus\n"
        )
        failure = {
            "phase": "run",
            "kind": "exit_status",
            "message": "run.sh ended with status 1",
            "remedy": "See its output.",
        }
        record = json.dumps(
            {"outcome": "failed", "run": {"wall_time_ns": 9_000_000}, "failure": failure}
        ).encode()
        end(attempt, time.time(), "counted", outcome="failed", record=record)
        break
    FleetExperiment.objects.filter(pk=experiment_id).update(
        state="held", state_reason="A debug trial failed: run.sh of bzip2 ended with status 1."
    )


def print_output(phase: str, text: str) -> None:
    """Let the script of the debug trial that runs print something."""
    from django.db.models import Max

    from datamill.service.models import Attempt, OutputPiece

    attempt = Attempt.objects.filter(trial__purpose="debug", state="taken").first()
    assert attempt is not None
    number = OutputPiece.objects.filter(attempt=attempt).aggregate(most=Max("number"))["most"] + 1
    OutputPiece.objects.create(attempt=attempt, number=number, phase=phase, text=text + "\n")
