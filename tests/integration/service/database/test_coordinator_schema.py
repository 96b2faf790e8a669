"""The tables are what the migrations make, and both databases have them."""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from integration.service.fleets import START_S, join, submit

from datamill.service.coordinator.experiments.dispatch import lease_trials
from datamill.service.models import Attempt, Event, FleetWorker


def test_the_schema_equals_its_migrations(database: str) -> None:
    output = StringIO()
    call_command("makemigrations", "--check", "--dry-run", stdout=output)
    assert "No changes detected" in output.getvalue()
    assert connection.vendor == database


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("migration", ["0007_fleet_experiments", "0008_fleet_workers"])
def test_a_model_with_another_name_keeps_its_table(migration: str) -> None:
    output = StringIO()
    call_command("sqlmigrate", "datamill", migration, no_color=True, stdout=output)
    statements = [line for line in output.getvalue().splitlines() if line and not line.startswith("--")]
    assert set(statements) <= {"BEGIN;", "COMMIT;"}


@pytest.mark.usefixtures("database")
def test_a_database_is_empty_whatever_an_earlier_test_left() -> None:
    assert not User.objects.exists()
    assert not Event.objects.exists()
    User.objects.create_user("someone")
    Event.objects.create(unix_s=1.0, kind="left behind")


@pytest.mark.usefixtures("database")
def test_a_database_of_before_the_goodbyes_keeps_its_workers_and_its_guards() -> None:
    worker_id = join().worker_id
    submit([worker_id])
    lease_trials(START_S)
    before = FleetWorker.objects.values("worker_id", "name", "state", "hardware", "receipts").get()
    try:
        call_command("migrate", "datamill", "0002_guards", verbosity=0)
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("UPDATE datamill_worker SET state = 'away'")
    finally:
        call_command("migrate", "datamill", verbosity=0)
    assert FleetWorker.objects.values("worker_id", "name", "state", "hardware", "receipts").get() == before
    assert (FleetWorker.objects.get().sessions, FleetWorker.objects.get().left_unix_s) == (None, None)
    assert Attempt.objects.get().worker_id == worker_id
    FleetWorker.objects.update(state="away")
    with pytest.raises(IntegrityError), transaction.atomic():
        FleetWorker.objects.update(state="busy")
