"""`python -m datamill.service`: what `datamill serve` becomes."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import click

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import speak_command_line, speaking

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run a coordinator; bad input ends in a clear message and status 2."""
    with speaking(speak_command_line):
        return _run(arguments)


def _run(arguments: list[str] | None) -> int:
    try:
        return _serve(sys.argv[1:] if arguments is None else arguments)
    except InputError as error:
        click.echo(f"datamill: {error}", err=True)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        click.echo("datamill: interrupted", err=True)
        return EXIT_INTERRUPTED
    except OSError as error:
        if error.errno is None:
            raise
        where = f"{error.filename}: " if error.filename else ""
        click.echo(f"datamill: {where}{error.strerror}", err=True)
        return EXIT_BAD_INPUT


def _serve(arguments: list[str]) -> int:
    from datamill.service.serving.options import parse_options
    from datamill.service.serving.storage.data_folder import DataFolder

    options = parse_options(arguments)
    if options.backup is not None:
        return _back_up(options.data, options.database, options.backup)
    # Everything that a coordinator keeps is its owner's alone.
    os.umask(0o077)
    folder = DataFolder(options.data)
    url = folder.database_url(options.database)
    folder.make_session_key()
    # The settings read these when they are imported.
    os.environ["DATAMILL_SERVICE_DATA"] = str(folder.path)
    os.environ["DATAMILL_SERVICE_DATABASE"] = url
    os.environ["DATAMILL_SERVICE_FILES"] = options.files
    os.environ["DJANGO_SETTINGS_MODULE"] = "datamill.service.settings"
    import django

    django.setup()
    # After Django: these name its tables.
    from datamill.service.serving.log import show_log
    from datamill.service.serving.serve import prepare, serve

    show_log()
    return asyncio.run(serve(prepare(options, folder, _name_database(url))))


def _back_up(data: Path, database: str, target: Path) -> int:
    """Copy the database of a data folder; the coordinator that works there goes on."""
    from datamill.service.administration.backups import copy_database

    source = data / "coordinator.sqlite3"
    if database or not source.is_file():
        raise InputError(
            "there is no SQLite database to copy" if not database else "this database is not a file of ours",
            where=database or str(source),
            remedy="Name the coordinator's data folder; PostgreSQL is backed up with pg_dump.",
        )
    if target.exists():
        raise InputError("there is something already", where=str(target), remedy="Name another file.")
    os.umask(0o077)
    copy_database(source, target)
    click.echo(f"{target}: copied; now copy files/, keys, tls/, nats-port and session-key as well.")
    return 0


def _name_database(url: str) -> str:
    """Return a database's URL without its password."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return url.replace(f":{parts.password}@", ":…@", 1)


if __name__ == "__main__":
    sys.exit(main())
