"""Counts and paces that the database keeps are those that a look at every trial would give."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from integration.service.databases import empty_database
from integration.service.experiments.test_coordinator_properties import MOVES, Play
from integration.service.fleets import START_S, join, list_leases, say, submit, tell_record
from running.nightly import choose_count

from datamill.service.coordinator.state.invariants import find_violations
from datamill.service.coordinator.state.lifecycles import TRIAL
from datamill.service.coordinator.state.rows import insert_rows, select_rows, update_rows
from datamill.service.coordinator.step import step
from datamill.service.models import FleetExperiment, FleetWorker, Pace, Trial, TrialCount
from datamill.service.pages.experiments.trials.trial_table import list_trials
from datamill.service.progress import count_progress

FOLLOWING: dict[str, list[str]] = {}
for first, second in TRIAL:
    FOLLOWING.setdefault(first, []).append(second)
COLUMNS = (
    "experiment_id", "trial_id", "purpose", "worker_id", "position", "block", "package_sha256", "reboot",
    "state", "attempts", "needs_id", "plan",
)  # fmt: skip


def find_miscounted() -> list[str]:
    return [sentence for sentence in find_violations() if sentence.startswith("a count of trials")]


def change_at_random(chance: Random, experiments: list[int], workers: list[str]) -> None:
    """One statement: rows inserted, changed one by one, changed together, or removed."""
    kind = chance.choice(["insert", "insert", "update", "update", "update", "together", "delete"])
    rows = select_rows("SELECT id, state, worker_id FROM datamill_trial ORDER BY id")
    if kind == "insert":
        number = (rows[-1][0] if rows else 0) + 1
        new = [
            (
                chance.choice(experiments), f"r{number + i}", chance.choice(["design", "debug", "build"]),
                chance.choice(workers), number + i, "", "0" * 64, False,
                chance.choice(["waiting", "planned"]), 0, None, b"{}",
            )
            for i in range(chance.randint(1, 5))
        ]  # fmt: skip
        insert_rows(Trial, COLUMNS, new)
        return
    chosen = chance.sample(rows, chance.randint(0, len(rows)))
    with connection.cursor() as cursor:
        if kind == "update":
            changed = [
                (pk, chance.choice([*FOLLOWING.get(state, []), state]), chance.choice([worker, *workers]))
                for pk, state, worker in chosen
            ]
            update_rows(Trial, ("state", "worker_id"), changed)
        elif kind == "together":
            cursor.execute(
                "UPDATE datamill_trial SET state = 'cancelled', attempts = attempts + 1 "
                "WHERE state IN ('waiting', 'planned') AND worker_id = %s",
                [chance.choice(workers)],
            )
        elif chosen:
            cursor.execute("DELETE FROM datamill_trial WHERE id = %s", [chosen[0][0]])


@settings(
    max_examples=choose_count(12, 300),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 1 << 32), changes=st.integers(1, 20))
def test_counts_follow_any_change_of_trials(database: str, seed: int, changes: int) -> None:
    assert database in ("sqlite", "postgresql")
    empty_database()
    workers = [join().worker_id for _ in range(3)]
    experiments = [submit(workers[:1], trials=2, debug="never") for _ in range(2)]
    Trial.objects.all().delete()
    assert not TrialCount.objects.filter(trials__gt=0).exists()
    chance = Random(seed)
    for _ in range(changes):
        change_at_random(chance, experiments, workers)
        assert find_miscounted() == []


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("seed", range(3))
def test_counts_and_paces_hold_in_a_fleet_that_does_what_chance_says(seed: int) -> None:
    play = Play(Random(seed))
    for _ in range(3):
        play.join()
    play.submit()
    for _ in range(40):
        play.play(play.chance.choice(["step", "answer", "answer", *MOVES]))
    play.finish()
    assert find_violations() == []


@pytest.mark.usefixtures("database")
def test_a_miscount_is_found() -> None:
    submit([join().worker_id])
    assert find_violations() == []
    with connection.cursor() as cursor:
        cursor.execute("UPDATE datamill_trialcount SET trials = trials + 1")
    assert any("a count of trials" in sentence for sentence in find_violations())


@pytest.mark.usefixtures("database")
def test_a_database_of_before_the_counts_is_counted_once() -> None:
    worker_id = join().worker_id
    submit([worker_id], trials=5, debug="never")
    for turn in range(3):
        step(START_S + turn)
        for holder, lease in list_leases(START_S + turn).items():
            say(holder, tell_record(lease), START_S + turn + 0.5)
    before = list_counts()
    assert Pace.objects.get().trials == 3
    try:
        call_command("migrate", "datamill", "0003_goodbyes", verbosity=0)
        with connection.cursor() as cursor:
            cursor.execute("UPDATE datamill_trial SET attempts = attempts")
    finally:
        call_command("migrate", "datamill", verbosity=0)
    assert list_counts() == [row for row in before if row[-1]]
    assert find_violations() == []
    step(START_S + 10)
    assert find_violations() == []


def list_counts() -> list[tuple[Any, ...]]:
    return list(
        TrialCount.objects.filter(trials__gt=0)
        .order_by("purpose", "state")
        .values_list("worker_id", "purpose", "state", "trials")
    )


@pytest.mark.usefixtures("database")
def test_how_far_an_experiment_is_is_told_without_a_look_at_its_trials() -> None:
    worker_id = join().worker_id
    number = submit([worker_id], trials=8, debug="never")
    step(START_S)
    for holder, lease in list_leases(START_S).items():
        say(holder, tell_record(lease), START_S + 1)
    stored = FleetExperiment.objects.get(pk=number)
    with CaptureQueriesContext(connection) as asked:
        progress = count_progress(stored, START_S + 2)
    assert (progress.trials["counted"], sum(progress.trials.values()), progress.finish_s) == (1, 8, 7.0)
    told = " ".join(query["sql"] for query in asked.captured_queries)
    assert '"datamill_trial"' not in told
    assert "datamill_attempt" not in told


def make_many(number: int, worker_ids: list[str]) -> list[int]:
    """Add trials to an experiment, some of them in other states; return all in order."""
    rows = [
        (
            number, f"m{i:04d}", "design", worker_ids[i % len(worker_ids)], 100 + i, "", "0" * 64, False,
            "planned", 0, None, b'{"trial_id":"m","order":1,"package":"xz","levels":{},"block":"","seed":1,'
            b'"point":1,"replicate":1}',
        )
        for i in range(90)
    ]  # fmt: skip
    insert_rows(Trial, COLUMNS, rows)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE datamill_trial SET state = 'cancelled' WHERE id % 3 = 0")
    return list(Trial.objects.filter(experiment=number).order_by("pk").values_list("pk", flat=True))


@pytest.mark.usefixtures("database")
def test_pages_of_trials_forth_and_back_show_each_once_and_in_order() -> None:
    workers = [join().worker_id, join().worker_id]
    number = submit(workers[:1], trials=4, debug="never")
    submit(workers[:1], trials=4, debug="never")
    ids = make_many(number, workers)
    stored = FleetExperiment.objects.get(pk=number)
    name = FleetWorker.objects.get(pk=workers[1]).name
    for states, worker in (([], ""), (["cancelled"], ""), ([], name), (["planned"], name), (["counted"], "")):
        wanted = Trial.objects.filter(experiment=number, pk__in=ids)
        wanted = wanted.filter(state__in=states) if states else wanted
        wanted = wanted.filter(worker__name=worker) if worker else wanted
        expected = list(wanted.order_by("pk").values_list("pk", flat=True))
        page = list_trials(stored, states, worker, after=None, before=None)
        pages = [page]
        while page.later is not None:
            page = list_trials(stored, states, worker, after=page.later, before=None)
            pages.append(page)
        assert [trial.pk for item in pages for trial in item.trials] == expected
        assert {item.total for item in pages} == {len(expected)}
        back = [page]
        while page.earlier is not None:
            page = list_trials(stored, states, worker, after=None, before=page.earlier)
            back.append(page)
        assert [trial.pk for item in reversed(back) for trial in item.trials] == expected
        # Where a page stands gives the same page again.
        again = list_trials(stored, states, worker, after=pages[-1].after, before=None)
        assert again.trials == pages[-1].trials
