"""A believable fleet with experiments for tests of the pages, made by the coordinator's own functions.

Runs as a program of its own, so that its database is nobody else's: `python fleet.py DATA PORT` fills an
SQLite file in DATA, serves the pages, says `ready`, and then obeys lines on its standard input (`count 3`,
`print TEXT`, `late TEXT`, `measure 9`), answering each with `done`.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import sys
import tarfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

# The tests' own builders of records, as other tests use them.
sys.path.insert(0, str(Path(__file__).parent.parent))

HOSTILE = '<script>document.title="hacked"</script>'
PASSWORD = "correct-horse-battery"
MACHINES = (
    # name, arch, model, kHz, cores, GiB, distribution, kernel, compiler, counters, reboot
    ("lab-1", "x86_64", "Xeon E-2278G", 5_000_000, 16, 64, "debian 12", "6.1.0-25", "12.2.0", True, True),
    ("lab-2", "x86_64", "Xeon E-2278G", 5_000_000, 16, 64, "debian 12", "6.1.0-25", "12.2.0", True, True),
    ("ryzen", "x86_64", "Ryzen 9 5950X", 4_900_000, 32, 128, "ubuntu 24.04", "6.8.0", "13.2.0", True, True),
    ("atom", "x86_64", "Atom D510", 1_660_000, 4, 2, "debian 12", "6.1.0-25", "12.2.0", False, False),
    ("pi-4", "aarch64", "Cortex-A72", 1_800_000, 4, 4, "debian 12", "6.6.31-v8", "12.2.0", False, True),
    ("altra", "aarch64", "Neoverse-N1", 3_000_000, 80, 256, "debian 13", "6.12.5", "14.2.0", True, True),
)  # fmt: skip


def make_inventory(machine: tuple[Any, ...], now: float) -> Any:
    """What the worker of a machine tells of it."""
    from datamill.experiment.factors.catalogue import FACTORS
    from datamill.protocol.fleet import FLEET_SCHEMA_VERSION, CacheFacts, CompilerVersion, Inventory
    from datamill.protocol.offers import FactorOffer, MissingLevel
    from datamill.protocol.trial import SCHEMA_VERSION, HostFacts

    name, arch, model, khz, cores, memory, distribution, kernel, compiler, counters, _ = machine
    offers = []
    for factor in FACTORS.values():
        levels = factor.levels or (
            ("performance", "powersave") if factor.name == "governor" else ("tsc", "hpet")
        )
        missing: tuple[MissingLevel, ...] = ()
        if factor.name == "allocator":
            levels, missing = (
                ("glibc", "jemalloc"),
                (MissingLevel("mimalloc", "libmimalloc is not installed"),),
            )
        if factor.name == "turbo" and arch == "aarch64":
            offers.append(FactorOffer("turbo", factor.stage, (), reason="the machine has no such setting"))
            continue
        if factor.name == "reboot":
            levels = ("none",)
        offers.append(FactorOffer(factor.name, factor.stage, levels, missing, levels[0] if levels else None))
    return Inventory(
        schema=FLEET_SCHEMA_VERSION,
        trial_schema=SCHEMA_VERSION,
        worker_version="0.1.0",
        hostname=name,
        host=HostFacts(arch, kernel, model, cores, memory << 30, f"boot-{name}"),
        clock_khz=khz,
        caches=(
            CacheFacts(1, "data", 32 << 10),
            CacheFacts(2, "unified", 1 << 20),
            CacheFacts(3, "unified", 16 << 20),
        ),
        distribution=distribution,
        compilers=(CompilerVersion("gcc", compiler), CompilerVersion("clang", "14.0.6")),
        counters=counters,
        isolation="confined",
        root=True,
        free_disk_bytes=200 << 30,
        factors=tuple(offers),
        clock_unix_ns=int(now * 1e9),
    )


def pack_package(**scripts: str) -> bytes:
    """A package as a `.tar.gz`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in scripts.items():
            member = tarfile.TarInfo(f"{name}.sh")
            member.mode, content = 0o755, text.encode()
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def store(content: bytes, name: str, kind: str, owner: Any) -> str:
    """Put a file into the store; returns its SHA-256."""
    from datamill.service.files.store import name_stored_file, record_stored_file

    sha256 = hashlib.sha256(content).hexdigest()
    path = name_stored_file(sha256)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    record_stored_file(sha256, kind, owner, name)
    return sha256


def fill() -> None:
    """Make users, machines, packages and experiments in every state."""
    from datamill.protocol.fleet import EnrolmentRequest, Policy
    from datamill.service.accounts import make_user
    from datamill.service.coordinator.joining.enrolment import enrol_worker, make_token
    from datamill.service.models import FleetWorker, Quarantine
    from datamill.service.states import WorkerState

    now = time.time()
    admin = make_user("admin", PASSWORD, admin=True)
    alice, bob = make_user("alice", PASSWORD), make_user("bob", PASSWORD)
    for number, machine in enumerate(MACHINES):
        joined = now - 86_400 * (9 - number)
        token = make_token(alice if machine[0].startswith("lab") else admin, now - 9e5, 1e6)
        digest = hashlib.sha256(machine[0].encode()).hexdigest().upper()
        key = "U" + digest[:55].translate(str.maketrans("0189", "ABCD"))
        inventory = make_inventory(machine, joined)
        enrol_worker(EnrolmentRequest(token, machine[0], key, inventory, Policy(reboot=machine[-1])), joined)
    FleetWorker.objects.update(heard_unix_s=now - 40, state=WorkerState.IDLE, left_unix_s=None)
    FleetWorker.objects.filter(name="pi-4").update(
        ended_attempts=40, failed_attempts=1, clock_offset_s=86_400.0
    )
    FleetWorker.objects.filter(name__in=["lab-1", "ryzen", "altra"]).update(
        ended_attempts=220, failed_attempts=2
    )
    FleetWorker.objects.filter(name="atom").update(
        ended_attempts=30,
        failed_attempts=9,
        state=WorkerState.DRAINED,
        state_reason="9 of its last 30 attempts failed, and 5 of 700 of the other machines",
    )
    xz = store(
        pack_package(
            setup="#!/bin/sh\nmake\n", run="#!/bin/sh\nexec xz -k corpus\n", collect="#!/bin/sh\necho r.tgz\n"
        ),
        "xz",
        "package",
        alice,
    )
    bzip2 = store(
        pack_package(run="#!/bin/sh\nexec bzip2 -k corpus\n", collect="#!/bin/sh\necho r.tgz\n"),
        "bzip2",
        "package",
        alice,
    )
    poison = store(
        pack_package(run="#!/bin/sh\n:(){ :|:& };:\n", collect="#!/bin/sh\n"), "fork-bomb", "package", bob
    )
    Quarantine.objects.create(
        sha256=poison,
        reason="3 workers went down under it, and no attempt of it ever completed",
        since_unix_s=now - 7200,
    )
    running = submit(
        alice, "xz-vs-bzip2", {"xz": xz, "bzip2": bzip2}, "Is bzip2 slower than xz everywhere?", public=True
    )
    count_trials(running, 31)
    fail_attempt(running)
    done = submit(alice, "link-order", {"xz": xz}, HOSTILE, machines=1, replicates=2)
    count_trials(done, 10_000, finish=True)
    answered = submit(
        alice, "compression", {"xz": xz, "bzip2": bzip2}, "Which compresses faster?", machines=2, replicates=3
    )
    measure_trials(answered)
    debugging = submit(alice, "debug-it", {"xz": xz}, "Does it run?", debug="first", machines=2)
    start_debugging(debugging)
    submit(bob, "private-of-bob", {"bzip2": bzip2}, "Nobody else's business", machines=1)
    held = submit(alice, "held-back", {"bzip2": bzip2}, "Does it run anywhere?", debug="first", machines=2)
    hold(held)


def submit(
    owner: Any,
    name: str,
    packages: dict[str, str],
    question: str,
    *,
    machines: int = 4,
    replicates: int = 5,
    debug: str = "never",
    public: bool = False,
) -> int:
    """Submit an experiment as a user does; returns its number."""
    from datamill.protocol.api.submissions import SubmittedFile
    from datamill.service.models import StoredFile
    from datamill.service.submissions.planning import plan_submission
    from datamill.service.submissions.submission import Submission
    from datamill.service.submissions.submitting import submit_experiment

    tables = "".join(
        f'[[package]]\nname = "{package}"\npath = "packages/{package}.tar.gz"\n' for package in packages
    )
    text = f"""[experiment]
name = "{name}"
question = {json.dumps(question)}
replicates = {replicates}
build = "shared"

{tables}
[coverage]
machine = {machines}

[factors]
optimization = ["-O0", "-O2"]
aslr = "100%"

[fleet]
reboot = "never"
debug = "{debug}"
public = {str(public).lower()}
"""
    files = tuple(
        SubmittedFile(
            package, "package", sha256, StoredFile.objects.get(pk=sha256).size_bytes, 3, package == "xz"
        )
        for package, sha256 in packages.items()
    )
    submission = Submission(text, "experiment.toml", files)
    with plan_submission(submission, owner) as planned:
        return submit_experiment(submission, planned, owner, time.time() - 3600)


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


def obey(line: str) -> None:
    """Change the database as a line says."""
    from datamill.service.models import FleetExperiment

    word, _, rest = line.strip().partition(" ")
    running = FleetExperiment.objects.get(name="xz-vs-bzip2").pk
    if word == "count":
        count_trials(running, int(rest))
    elif word == "print":
        print_output("run", rest)
    elif word == "measure":
        measure_trials(int(rest))
    elif word == "late":
        print_output("setup", rest)
    else:
        raise ValueError(line)


def main(data: Path, port: int) -> None:
    """Fill a database, serve pages over it, and obey."""
    os.environ["DATAMILL_SERVICE_DATA"] = str(data)
    os.environ["DATAMILL_SERVICE_DATABASE"] = f"sqlite:///{data}/fleet.sqlite3"
    os.environ["DJANGO_SETTINGS_MODULE"] = "datamill.service.settings"
    (data / "session-key").write_text(hashlib.sha256(os.urandom(32)).hexdigest(), encoding="ascii")
    import django
    import uvicorn

    django.setup()
    from django.conf import settings

    # Hashes that nobody guesses take most of a test's time.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
    from django.core.management import call_command
    from django.db import transaction

    from datamill.service.broker.access import BrokerAccess, set_broker_access
    from datamill.service.broker.keys import load_keys
    from datamill.service.front_door.kept_threads import make_application

    call_command("migrate", verbosity=0)
    with transaction.atomic():
        fill()
    set_broker_access(BrokerAccess(load_keys(data / "keys"), ("nats://127.0.0.1:4222",), None, lambda: None))
    application = ASGIStaticFilesHandler(make_application())
    config = uvicorn.Config(application, host="127.0.0.1", port=port, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    serving = threading.Thread(target=server.run, daemon=True)
    serving.start()
    while not server.started:
        time.sleep(0.02)
    print("ready", flush=True)
    for line in sys.stdin:
        obey(line)
        print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
