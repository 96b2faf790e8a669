"""`datamill serve`: run the coordinator of a fleet."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

import click

from datamill.experiment.errors import InputError

#: Packages of the extra `coordinator`, by what is imported of them.
_PARTS = (
    *("asgiref", "cryptography", "django", "django_htmx", "ninja", "nats", "nkeys", "psycopg", "nacl"),
    *("obstore", "starlette", "uvicorn"),
)


@click.command(
    add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True}
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def serve(arguments: tuple[str, ...]) -> None:
    """Run the coordinator of a fleet: web pages, API, and the broker that carries trials to workers."""
    if any(find_spec(name) is None for name in _PARTS):
        raise InputError(
            "the parts of the coordinator are not installed here: type "
            "pip install 'datamill[coordinator]', or uv tool install 'datamill[coordinator]'"
        )
    # The coordinator is a program of its own: commands load without it, and signals reach it directly.
    if not any(argument in ("--help", "-h", "--version") for argument in arguments):
        click.echo(
            "Starting the coordinator: its database, broker and web server take some seconds …", err=True
        )
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "datamill.service", *arguments])
