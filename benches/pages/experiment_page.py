"""What the page of a large experiment costs, and the answer of one of 6300 trials, cold and kept.

A coordinator's pages over an SQLite file of their own, asked in this process, which infers the answers as
well: processor time is that of both, and says more on a busy machine than the time on the clock. With
`--browser` Chromium opens the page, and the time is that from asking for it until the picture of its answer
is there, the answer being kept.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import resource
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from django.conf import settings
from integration.service.databases import use_database
from integration.service.fleets import make_phase, make_record
from integration.service.played_fleet import PACKAGE, enrol, submit
from markdown import describe_machine, format_table

MACHINES = 20
LARGE, ANSWERED = 100_000, 6_300
PAGE_S, PAGE_BYTES, FIGURE_S = 0.1, 300_000, 1.0
COLD_S, KEPT_S = 3.0, 0.1
_MODULES_OF_ANSWERS = ("datamill.verbs.answer", "datamill.service.answers.drawing")


@dataclass(frozen=True)
class Cost:
    """What a request cost: time on the clock, processor time, bytes, queries."""

    clock_s: float
    cpu_s: float
    size: int
    queries: int


def read_cpu_s() -> float:
    """Processor time of this process and of those that it waited for."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def measure(ask: Callable[[], int]) -> Cost:
    """Ask once; `ask` returns how many bytes came."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as asked:
        clock_s, cpu_s = time.perf_counter(), read_cpu_s()
        size = ask()
        clock_s, cpu_s = time.perf_counter() - clock_s, read_cpu_s() - cpu_s
    return Cost(clock_s, cpu_s, size, len(asked))


def count_all(experiment_id: int) -> None:
    """Let all trials of an experiment count, with records: -O2 is a fifth better."""
    import msgspec
    from django.db import connection, transaction

    from datamill.results.bundles.trial_spec import specify_trial
    from datamill.service.coordinator.leasing.leases import decode_planned_trial, load_stored_experiments
    from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
    from datamill.service.coordinator.state.rows import insert_rows
    from datamill.service.models import Attempt, FleetExperiment, Pace, Trial

    question = load_stored_experiments([experiment_id])[experiment_id]
    draws, now = random.Random(21), time.time()

    def list_rows() -> Iterator[tuple[Any, ...]]:
        for trial in Trial.objects.filter(experiment=experiment_id).order_by("id").iterator():
            planned = decode_planned_trial(bytes(trial.plan))
            spec = specify_trial(question.experiment, question.head, planned, 1, locate=lambda _: "")
            seconds = draws.lognormvariate(0.0, 0.05)
            better = 1.2 if planned.levels["optimization"] == "-O2" else 1.0
            run = make_phase(wall_time_ns=round(seconds * 1e9))
            record = make_record(
                SimpleNamespace(spec=spec),  # type: ignore[arg-type]
                run=run,
                metrics={"score": (seconds * better,)},
                ended_unix_ns=1 + round(seconds * 1e9),
            )
            key = f"{experiment_id}.{trial.trial_id}.1"
            yield (
                trial.pk, 1, key, trial.worker_id, "counted", "", now - 9, now + 9, now, "completed",
                msgspec.json.encode(record), False,
            )  # fmt: skip

    with transaction.atomic():
        rows = list(list_rows())
        with connection.cursor() as cursor:
            # A worker makes one attempt at a time; here they all have been made.
            cursor.execute("DROP TRIGGER IF EXISTS datamill_attempt_begins")
            for state in ("leased", "counted"):
                cursor.execute(
                    "UPDATE datamill_trial SET state = %s, attempts = 1 WHERE experiment_id = %s",
                    [state, experiment_id],
                )
        columns = (
            "trial_id", "number", "key", "worker_id", "state", "reason", "leased_unix_s", "deadline_unix_s",
            "ended_unix_s", "outcome", "record", "rebooted",
        )  # fmt: skip
        insert_rows(Attempt, columns, rows)
        for kind in (EventKind.LEASED, EventKind.COUNTED):
            add_events((NewEvent(kind, "", row[3], experiment_id, row[2]) for row in rows), now)
        for worker_id, trials in Counter(row[3] for row in rows).items():
            Pace.objects.create(
                experiment_id=experiment_id,
                worker_id=worker_id,
                trials=trials,
                first_leased_unix_s=now - 9,
                last_ended_unix_s=now,
            )
        FleetExperiment.objects.filter(pk=experiment_id).update(state="completed", ended_unix_s=now)


@contextmanager
def serving() -> Iterator[str]:
    """Serve the pages to a browser."""
    import uvicorn
    from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
    from running.free_ports import find_free_port

    from datamill.service.front_door.kept_threads import make_application

    port = find_free_port()
    application = ASGIStaticFilesHandler(make_application())
    server = uvicorn.Server(
        uvicorn.Config(application, host="127.0.0.1", port=port, log_level="warning", lifespan="off")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def time_first_figure(cookie: str, number: int) -> float:
    """Return the time from asking for an experiment's page until the picture of its answer is drawn."""
    from playwright.sync_api import sync_playwright

    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with serving() as url, sync_playwright() as running:
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        context = browser.new_context()
        context.add_cookies([{"name": "sessionid", "value": cookie, "url": url}])
        page = context.new_page()
        times = []
        for _ in range(5):
            began = time.perf_counter()
            page.goto(f"{url}/experiments/{number}")
            page.locator("#answer figure svg").first.wait_for(timeout=60_000)
            times.append(time.perf_counter() - began)
        browser.close()
    return statistics.median(times[1:])


def main() -> None:
    """Fill a database, ask for the pages, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=LARGE)
    parser.add_argument("--browser", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings.DATA_FOLDER = Path(folder)
        use_database(f"sqlite:///{folder}/fleet.sqlite3")
        from django.contrib.auth.models import User
        from django.test import Client

        from datamill.service.answers.answering import answer_experiment
        from datamill.service.files.disk import name_stored_file
        from datamill.service.models import FleetExperiment

        stored = name_stored_file(PACKAGE)
        stored.parent.mkdir(parents=True)
        stored.write_bytes(b"ten bytes.")
        enrol([f"m{number:02d}" for number in range(MACHINES)])
        large = submit(given.trials)
        count_all(large)
        answered = submit(ANSWERED)
        count_all(answered)
        ada = User.objects.get(username="ada")
        client = Client()
        client.force_login(ada)

        def ask(path: str) -> int:
            answer = client.get(path)
            assert answer.status_code == 200, answer.content[:500]
            return len(answer.content)

        def infer(number: int = answered) -> int:
            return len(answer_experiment(FleetExperiment.objects.get(pk=number), ada).json)

        # As the process has loaded them from which a coordinator forks those that infer answers.
        for name in _MODULES_OF_ANSWERS:
            importlib.import_module(name)
        rows = []
        for name, path in (
            (f"page of {given.trials} trials", f"/experiments/{large}"),
            ("list of experiments", "/experiments"),
            ("list of machines", "/workers"),
        ):
            ask(path)
            costs = [measure(lambda path=path: ask(path)) for _ in range(15)]
            rows.append((name, *describe(costs)))
        rows.append((f"answer of {ANSWERED} trials, cold", *describe([measure(infer)])))
        rows.append(("the same, kept", *describe([measure(infer) for _ in range(15)])))
        part = f"/experiments/{answered}/answer"
        rows.append(("its part of the page", *describe([measure(lambda: ask(part)) for _ in range(15)])))
        print(f"{describe_machine()} Load: {os.getloadavg()[0]:.1f}.\n")
        print(format_table(("asked", "clock", "processor", "bytes", "queries"), rows))
        print(
            f"\nWanted: page {PAGE_S} s and {PAGE_BYTES} bytes; answer {COLD_S} s cold, {KEPT_S} s kept; "
            f"first figure {FIGURE_S} s."
        )
        if given.browser:
            cold_s = measure(lambda: infer(large)).clock_s
            print(f"Answer of {given.trials} trials, cold: {cold_s:.1f} s.")
            print("First figure in Chromium, answers kept:")
            for trials, number in ((ANSWERED, answered), (given.trials, large)):
                figure_s = time_first_figure(client.cookies["sessionid"].value, number)
                print(f"{trials} trials: {figure_s:.2f} s.")


def describe(costs: list[Cost]) -> tuple[str, str, str, str]:
    """Medians of several costs, as the table shows them."""
    return (
        f"{1000 * statistics.median(cost.clock_s for cost in costs):.1f} ms",
        f"{1000 * statistics.median(cost.cpu_s for cost in costs):.1f} ms",
        f"{costs[-1].size}",
        f"{costs[-1].queries}",
    )


if __name__ == "__main__":
    main()
