"""A believable fleet with experiments for tests of the pages, made by the coordinator's own functions.

Runs as a program of its own, so that its database is nobody else's: `python fleet.py DATA PORT` fills an
SQLite file in DATA, serves the pages, says `ready`, and then obeys lines on its standard input (`count 3`,
`print TEXT`, `late TEXT`, `measure 9`, `damage KEY`), answering each with `done`.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from pathlib import Path

# The tests' own builders of records, as other tests use them.
sys.path.insert(0, str(Path(__file__).parent.parent))

from browser.made_fleet.machines import MACHINES, make_inventory
from browser.made_fleet.submissions import pack_package, store, submit
from browser.made_fleet.trials import (
    HOSTILE,
    count_trials,
    fail_attempt,
    hold,
    measure_trials,
    print_output,
    start_debugging,
)

PASSWORD = "correct-horse-battery"


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


def damage_archive(key: str) -> None:
    """Change a bit of the archive of a publication."""
    from datamill.service.files.disk import name_stored_file
    from datamill.service.models import Publication

    file = name_stored_file(Publication.objects.get(pk=key).sha256)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


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
    elif word == "damage":
        damage_archive(rest)
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
    from datamill.service.serving.body_limits import LimitedBodies

    call_command("migrate", verbosity=0)
    with transaction.atomic():
        fill()
    set_broker_access(BrokerAccess(load_keys(data / "keys"), ("nats://127.0.0.1:4222",), None, lambda: None))
    application = LimitedBodies(ASGIStaticFilesHandler(make_application()))
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
