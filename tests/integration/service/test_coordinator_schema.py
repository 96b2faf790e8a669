"""The tables are what the migrations make, and both databases have them."""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection

from datamill.service.models import Event


def test_the_schema_equals_its_migrations(database: str) -> None:
    output = StringIO()
    call_command("makemigrations", "--check", "--dry-run", stdout=output)
    assert "No changes detected" in output.getvalue()
    assert connection.vendor == database


@pytest.mark.usefixtures("database")
def test_a_database_is_empty_whatever_an_earlier_test_left() -> None:
    assert not User.objects.exists()
    assert not Event.objects.exists()
    User.objects.create_user("someone")
    Event.objects.create(unix_s=1.0, kind="left behind")
