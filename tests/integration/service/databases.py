"""Databases for tests of the coordinator: SQLite in memory, and a throw-away PostgreSQL.

Tests in this folder have the fixtures of its `conftest.py` at once. Others write in their own `conftest.py`::

    from integration.service.databases import database, memory_database, postgres_url

`database` runs a test on both, `memory_database` on SQLite alone; each hands over the kind of database, empty
and migrated, as Django's `connections["default"]` of this thread. Importing this module sets Django up.
`use_database(URL)` and `empty_database()` serve those who need more than one database a test.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
import pytest
from django.apps import apps
from running.free_ports import find_free_port

# Whatever stands there: tests empty their database.
os.environ["DJANGO_SETTINGS_MODULE"] = "datamill.service.settings"
os.environ["DATAMILL_SERVICE_DATABASE"] = "sqlite://"
if not apps.ready:
    django.setup()

from django.core.management import call_command
from django.db import connection, connections

from datamill.service.settings import parse_database_url

MEMORY_URL = "sqlite://"
#: What migrations fill and no test changes.
_KEPT_TABLES = frozenset({"django_migrations", "django_content_type", "auth_permission"})
_migrated: set[str] = set()
#: An SQLite as migrations leave it, to be copied: migrating takes a second, in a file two.
_empty_memory: list[sqlite3.Connection] = []


class DatabaseUnavailableError(Exception):
    """There is no PostgreSQL on this machine, or it does not start; says why."""


def use_database(url: str) -> str:
    """Make a database Django's default of this thread, migrated and empty; return its kind.

    Returns:
        `sqlite` or `postgresql`.
    """
    connections["default"].close()
    connections.settings["default"] = connections.configure_settings({"default": parse_database_url(url)})[
        "default"
    ]
    del connections["default"]
    if connection.vendor == "sqlite":
        if not _empty_memory:
            call_command("migrate", verbosity=0)
            connection.ensure_connection()
            _empty_memory.append(sqlite3.connect(":memory:", check_same_thread=False))
            connection.connection.backup(_empty_memory[0])
    elif url not in _migrated:
        call_command("migrate", verbosity=0)
        _migrated.add(url)
    empty_database()
    return connection.vendor


def empty_database() -> None:
    """Remove every row of the default database, whatever its triggers say, and start numbering anew."""
    connection.ensure_connection()
    if connection.vendor == "sqlite":
        _empty_memory[0].backup(connection.connection)
        return
    with connection.cursor() as cursor:
        tables = [name for name in connection.introspection.table_names() if name not in _KEPT_TABLES]
        names = ", ".join(connection.ops.quote_name(name) for name in tables)
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(f"TRUNCATE {names} RESTART IDENTITY")
        cursor.execute("SET session_replication_role = origin")


def put_tables(file: Path) -> None:
    """Make an SQLite as the first start of a coordinator does, in no time."""
    if not _empty_memory:
        use_database(MEMORY_URL)
    with contextlib.closing(sqlite3.connect(file)) as made:
        _empty_memory[0].backup(made)
    file.chmod(0o600)


@contextmanager
def serve_postgres(*, safe: bool = False) -> Iterator[str]:
    """Start a PostgreSQL of its own on a free port of 127.0.0.1 and yield the URL of an empty database.

    `safe` makes it write as it does in earnest; tests go faster without.

    Raises:
        DatabaseUnavailableError: when there is none on this machine, or it does not start.
    """
    programs = _find_postgres()
    owner = _choose_owner()
    folder = Path(tempfile.mkdtemp(prefix="datamill-postgres-"))
    try:
        if owner is not None:
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        data = folder / "data"
        # pg_ctl sends a stop to that server alone whose number stands in this very folder.
        _run_as(
            owner,
            [programs / "initdb", "-D", data, "-U", "datamill", "-A", "trust", "-E", "UTF8", "--locale=C"],
        )
        port = find_free_port()
        options = f"-c port={port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
        if not safe:
            options += " -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
        control = [programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log"]
        _run_as(owner, [*control, "-o", options, "start"])
        try:
            _run_as(
                owner,
                [programs / "createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "datamill", "datamill"],
            )
            yield f"postgres://datamill@127.0.0.1:{port}/datamill"
        finally:
            connections["default"].close()
            _run_as(owner, [*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _find_postgres() -> Path:
    """Return the folder of PostgreSQL's programs; Debian keeps them out of `PATH`."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = versions[-1] if versions else shutil.which("initdb")
    if found is None:
        raise DatabaseUnavailableError("initdb is missing; apt-get install postgresql")
    return Path(found).parent


def _choose_owner() -> pwd.struct_passwd | None:
    """Return the user that PostgreSQL runs as: it refuses root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise DatabaseUnavailableError("PostgreSQL does not run as root, and there is no other user")


def _run_as(owner: pwd.struct_passwd | None, command: list[Path | str]) -> None:
    with tempfile.TemporaryFile() as output:
        # A file, not a pipe: the server that pg_ctl leaves behind would hold the pipe open.
        done = subprocess.run(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            check=False,
            user=owner.pw_uid if owner else None,
            group=owner.pw_gid if owner else None,
            extra_groups=[] if owner else None,
        )
        if done.returncode:
            output.seek(0)
            raise DatabaseUnavailableError(
                f"{Path(command[0]).name} failed: {output.read().decode(errors='replace').strip()}"
            )


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """URL of a database in a PostgreSQL of this session; skips, with the reason, where there is none."""
    try:
        server = serve_postgres()
        url = server.__enter__()
    except DatabaseUnavailableError as error:
        pytest.skip(f"no PostgreSQL here: {error}")
    try:
        yield url
    finally:
        server.__exit__(None, None, None)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    """Each of the two databases in turn, migrated and empty: `sqlite` or `postgresql`."""
    url = MEMORY_URL if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return use_database(url)


@pytest.fixture
def memory_database() -> str:
    """SQLite in memory, migrated and empty: for what does not depend on the kind of database."""
    return use_database(MEMORY_URL)
