"""What a coordinator's first start makes: tables, a first user, and settings for the commands here."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader

from datamill.client_settings import ClientSettings, encode_settings, name_settings_file, read_settings_file
from datamill.experiment.errors import InputError
from datamill.service.accounts import find_user_of_key, make_api_key, make_user
from datamill.service.kept_secrets import write_secret

ADMIN = "admin"


def migrate_database(where: str) -> None:
    """Bring the tables to what this version needs.

    Args:
        where: the database as a message names it, without its password.

    Raises:
        InputError: when it cannot be reached, or a newer datamill made it.
    """
    try:
        loader = MigrationLoader(connection)
        unknown = sorted(
            name
            for app, name in loader.applied_migrations
            if app == "datamill" and (app, name) not in loader.disk_migrations
        )
        if unknown:
            raise InputError(
                f"a newer datamill made this database (it has {unknown[-1]})",
                where=where,
                remedy="Install that version, or a later one.",
            )
        call_command("migrate", verbosity=0, interactive=False)
    except DatabaseError as error:
        raise InputError(
            f"cannot use the database: {_first_line(error)}",
            where=where,
            remedy="Check that it runs, is reachable from here, and that user and password are right.",
        ) from None


def make_first_user(data: Path) -> Path | None:
    """Make the user `admin` when there is none; return the file of the password where there is one."""
    file = data / "admin-password"
    if not User.objects.exists():
        password = secrets.token_urlsafe(18)
        # The file first: a password that nobody knows would lock everybody out.
        write_secret(file, f"{password}\n".encode())
        make_user(ADMIN, password, admin=True)
    return file if file.is_file() else None


def write_client_settings(url: str, ca_pem: str | None) -> bool:
    """Let the commands of this user on this machine speak to this coordinator, unless they have another.

    Returns:
        Whether they speak to this one now.
    """
    try:
        found = read_settings_file()
    except InputError:
        return False
    if found is not None:
        if found.url != url:
            return False
        if find_user_of_key(found.api_key) is not None and found.ca_pem == ca_pem:
            return True
    admin = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if admin is None:
        return False
    settings = ClientSettings(url, make_api_key(admin, f"commands on {os.uname().nodename}"), ca_pem)
    try:
        write_secret(name_settings_file(), encode_settings(settings))
    except OSError:
        return False
    return True


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
