"""The database itself refuses what must not be, and the documents say what it allows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from integration.service.fleets import START_S, join, list_leases, say, submit, tell_record

from datamill.service.coordinator.experiments.dispatch import lease_trials
from datamill.service.coordinator.state.lifecycles import LIFECYCLES
from datamill.service.models import Attempt, Event, FleetExperiment, Trial
from datamill.service.states import AttemptState, ExperimentState, TrialState, WorkerState

DOCS = Path(__file__).parents[4] / "docs" / "lifecycles"
STATES = {
    "datamill_experiment": ExperimentState.values,
    "datamill_trial": TrialState.values,
    "datamill_attempt": AttemptState.values,
    "datamill_worker": WorkerState.values,
}


@contextmanager
def forbidden() -> Iterator[None]:
    with pytest.raises(IntegrityError), transaction.atomic():
        yield


def make_attempt() -> Attempt:
    worker_id = join().worker_id
    submit([worker_id])
    lease_trials(START_S)
    return Attempt.objects.get()


def copy_attempt(attempt: Attempt, **changes: object) -> Attempt:
    fields = {field.attname: getattr(attempt, field.attname) for field in Attempt._meta.concrete_fields}
    fields.pop("id")
    return Attempt(**{**fields, "number": 2, "key": "another", **changes})


@pytest.mark.usefixtures("database")
def test_a_worker_cannot_have_two_open_attempts() -> None:
    attempt = make_attempt()
    other = Trial.objects.filter(state="planned").first()
    assert other is not None
    with forbidden():
        copy_attempt(attempt, trial_id=other.id).save()
    Attempt.objects.update(state="lost", ended_unix_s=START_S)
    copy_attempt(attempt, trial_id=other.id).save()


@pytest.mark.usefixtures("database")
def test_a_trial_cannot_have_two_open_attempts() -> None:
    attempt = make_attempt()
    with forbidden():
        copy_attempt(attempt, worker_id=join().worker_id).save()


@pytest.mark.usefixtures("database")
def test_a_trial_cannot_have_two_records_that_count() -> None:
    attempt = make_attempt()
    worker_id = attempt.worker_id
    say(worker_id, tell_record(list_leases()[worker_id]))
    second = copy_attempt(attempt, worker_id=join().worker_id)
    second.save()
    second.state, second.record, second.ended_unix_s = "counted", b"{}", START_S
    with forbidden():
        second.save()


@pytest.mark.usefixtures("database")
def test_what_counts_has_a_record_and_ended_attempts_say_when() -> None:
    attempt = make_attempt()
    with forbidden():
        Attempt.objects.filter(pk=attempt.pk).update(state="counted", ended_unix_s=START_S)
    with forbidden():
        Attempt.objects.filter(pk=attempt.pk).update(state="lost")
    with forbidden():
        FleetExperiment.objects.update(state="completed")


@pytest.mark.usefixtures("database")
def test_a_record_cannot_be_changed() -> None:
    attempt = make_attempt()
    say(attempt.worker_id, tell_record(list_leases()[attempt.worker_id]))
    for record in (b"{}", None):
        with forbidden():
            Attempt.objects.update(record=record)


def test_events_cannot_be_changed_or_removed(database: str) -> None:
    join()
    assert Event.objects.exists()
    with forbidden():
        Event.objects.update(detail="nothing happened")
    with forbidden():
        Event.objects.filter(kind="worker joined").delete()
    if database == "postgresql":
        with forbidden(), connection.cursor() as cursor:
            cursor.execute("TRUNCATE datamill_event")
    assert Event.objects.get().detail.endswith("joined the fleet.")


@pytest.mark.parametrize("table", list(LIFECYCLES))
def test_the_database_allows_exactly_the_transitions_of_the_lifecycles(database: str, table: str) -> None:
    make_attempt()
    key = {"datamill_worker": "worker_id"}.get(table, "id")
    # Other rules also speak of states; here the lifecycle alone is asked.
    drop_checks(table, database)
    allowed = set()
    for old, new in product(STATES[table], repeat=2):
        if old != new and is_allowed(table, key, old, new, database):
            allowed.add((old, new))
    begins = {("", state) for state in STATES[table] if begins_allowed(table, state, database)}
    assert allowed | begins == set(LIFECYCLES[table])
    if database == "postgresql":
        connection.rollback()
        connection.set_autocommit(True)


def drop_checks(table: str, database: str) -> None:
    with connection.cursor() as cursor:
        if database == "sqlite":
            cursor.execute("PRAGMA ignore_check_constraints = ON")
            return
        connection.set_autocommit(False)
        # States are set behind the back of what counts them.
        for checked in (table, "datamill_trialcount"):
            names = connection.introspection.get_constraints(cursor, checked)
            for name, facts in names.items():
                if facts["check"]:
                    cursor.execute(f'ALTER TABLE {checked} DROP CONSTRAINT "{name}"')


def is_allowed(table: str, key: str, old: str, new: str, database: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SAVEPOINT here")
        try:
            set_state_unguarded(cursor, table, old, database)
            cursor.execute(
                f"UPDATE {table} SET state = %s WHERE {key} = (SELECT MIN({key}) FROM {table})", [new]
            )
            return True
        except DatabaseError as error:
            refusal = str(error)
        finally:
            cursor.execute("ROLLBACK TO here")
    assert "does not follow" in refusal
    return False


def set_state_unguarded(cursor: object, table: str, state: str, database: str) -> None:
    execute = cursor.execute  # type: ignore[attr-defined]
    if database == "postgresql":
        execute("SET LOCAL session_replication_role = replica")
        execute(f"UPDATE {table} SET state = %s", [state])
        execute("SET LOCAL session_replication_role = origin")
        return
    execute("SELECT sql FROM sqlite_master WHERE name = %s", [f"{table}_lifecycle"])
    (definition,) = cursor.fetchone()  # type: ignore[attr-defined]
    execute(f"DROP TRIGGER {table}_lifecycle")
    execute(f"UPDATE {table} SET state = %s", [state])
    execute(definition)


def begins_allowed(table: str, state: str, database: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SAVEPOINT here")
        try:
            columns = [
                column.name for column in connection.introspection.get_table_description(cursor, table)
            ]
            changed = {"state": "%s", "id": "id + 1000", "number": "number + 1"}
            unique = ["name", "public_key", "api_key_sha256", "key"]
            unique.append({"datamill_worker": "worker_id", "datamill_trial": "trial_id"}.get(table, "key"))
            changed |= {name: f"substr('x' || {name}, 1, 13)" for name in unique}
            cursor.execute(f"CREATE TEMPORARY TABLE one AS SELECT * FROM {table} LIMIT 1")
            if table.endswith("attempt"):
                set_state_unguarded(cursor, table, "lost", database)
            values = ", ".join(changed.get(name, f'"{name}"') for name in columns)
            names = ", ".join(f'"{name}"' for name in columns)
            cursor.execute(f"INSERT INTO {table} ({names}) SELECT {values} FROM one", [state])
            return True
        except DatabaseError as error:
            refusal = str(error)
        finally:
            cursor.execute("ROLLBACK TO here")
    assert "no row begins in this state" in refusal
    return False


def read_diagram(name: str) -> set[tuple[str, str]]:
    """Return the transitions that a document's Mermaid diagram draws."""
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    (diagram,) = re.findall(r"```mermaid\n(.*?)```", text, re.DOTALL)
    drawn = set()
    for old, new in re.findall(r"^\s*(\[\*\]|\w+) --> (\[\*\]|\w+)", diagram, re.MULTILINE):
        if new != "[*]":
            drawn.add(("" if old == "[*]" else old, new))
    return drawn


@pytest.mark.parametrize("table", list(LIFECYCLES))
def test_the_documents_draw_exactly_what_the_database_enforces(table: str) -> None:
    assert read_diagram(table.removeprefix("datamill_")) == set(LIFECYCLES[table])


@pytest.mark.parametrize("table", list(LIFECYCLES))
def test_the_documents_explain_every_state(table: str) -> None:
    text = (DOCS / f"{table.removeprefix('datamill_')}.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert explained == list(STATES[table])


def test_every_state_of_figure_3_has_its_counterpart_among_ours() -> None:
    text = (DOCS / "figure-3.md").read_text(encoding="utf-8")
    named = re.findall(r"\b(experiment|trial|worker|attempt) `(\w+)`", text)
    assert named
    for entity, state in named:
        assert state in STATES[f"datamill_{entity}"], f"{entity} {state}"
