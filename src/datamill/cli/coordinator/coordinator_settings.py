"""Which coordinator the client verbs mean, and whose key they have."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click

from datamill.client_settings import ClientSettings, read_settings_file
from datamill.experiment.errors import InputError

URL_VARIABLE = "DATAMILL_URL"
KEY_VARIABLE = "DATAMILL_KEY"
CA_VARIABLE = "DATAMILL_CA"
_FILE_REMEDY = (
    "datamill serve writes the settings of this machine's coordinator; for another one, give --url and "
    f"--key, or set {URL_VARIABLE} and {KEY_VARIABLE}."
)

_F = TypeVar("_F", bound=Callable[..., Any])


def coordinator_options(command: _F) -> _F:
    """Add the options that say which coordinator is meant."""
    command = click.option(
        "--key", metavar="KEY", envvar=KEY_VARIABLE, help=f"Your API key [{KEY_VARIABLE}, or saved settings]."
    )(command)
    return click.option(
        "--url",
        metavar="URL",
        envvar=URL_VARIABLE,
        help=f"The coordinator [{URL_VARIABLE}, or saved settings].",
    )(command)


def read_settings(url: str | None, key: str | None) -> ClientSettings:
    """Return where the coordinator is: what was given, completed from the settings file.

    The key in the file is sent to nobody but the coordinator of that file.

    Raises:
        InputError: when it is not known, or the file cannot be read.
    """
    saved = read_settings_file()
    chosen_url = (url or (saved.url if saved else "")).rstrip("/")
    if not chosen_url:
        raise InputError("which coordinator is not known", remedy=_FILE_REMEDY)
    if not _is_address(chosen_url):
        raise InputError(
            f"this is not the address of a coordinator: {chosen_url}",
            where="--url",
            remedy="It looks like https://HOST:PORT.",
        )
    same = saved is not None and saved.url.rstrip("/") == chosen_url
    chosen_key = key or (saved.api_key if saved is not None and same else "")
    if not chosen_key:
        raise InputError(f"no key for {chosen_url} is known", remedy=_FILE_REMEDY)
    ca_pem = saved.ca_pem if saved is not None and same else None
    file = os.environ.get(CA_VARIABLE)
    if file:
        try:
            ca_pem = Path(file).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot be read: {error}", where=f"{CA_VARIABLE}={file}") from None
    return ClientSettings(chosen_url, chosen_key, ca_pem)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        # Reading a port that is none raises.
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
