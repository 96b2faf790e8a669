"""Which coordinator the commands of a user speak to: the file that they and `datamill serve` share."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from datamill.experiment.errors import InputError


class ClientSettings(msgspec.Struct, frozen=True):
    """Where the coordinator is, the user's key, and in PEM the authority that it has of its own."""

    url: str
    api_key: str
    ca_pem: str | None = None


def name_settings_file() -> Path:
    """Return where the user's settings are kept."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    return Path(folder) / "datamill" / "coordinator.json"


def read_settings_file() -> ClientSettings | None:
    """Return the user's settings, None when there are none.

    Raises:
        InputError: when the file cannot be read.
    """
    file = name_settings_file()
    try:
        return msgspec.json.decode(file.read_bytes(), type=ClientSettings)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
        raise InputError(
            f"the settings cannot be read: {error}", where=str(file), remedy="Correct or remove the file."
        ) from None


def encode_settings(settings: ClientSettings) -> bytes:
    """Return settings as the file holds them."""
    return msgspec.json.format(msgspec.json.encode(settings)) + b"\n"
