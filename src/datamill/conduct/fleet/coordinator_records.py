"""What a coordinator wrote, as records of the API."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from datamill import __version__
from datamill.experiment.errors import InputError

T = TypeVar("T")


class UnknownAnswerError(InputError):
    """An answer is not the record that this datamill expects: the coordinator is of another version."""


def read_record(content: bytes, kind: type[T], where: str, coordinator: str = "") -> T:
    """Return what the coordinator wrote as a record; fields that the record lacks are passed over.

    Args:
        content: JSON.
        kind: the record, or a list of records.
        where: what it was read from.
        coordinator: the version of the coordinator, empty when it is not known.

    Raises:
        UnknownAnswerError: a field is missing or of another kind, or this is no JSON at all.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        version = f"datamill {coordinator}" if coordinator else "of another version"
        raise UnknownAnswerError(
            f"what the coordinator wrote is not what datamill {__version__} expects: {_lower(str(error))}",
            where=where,
            remedy=f"The coordinator is {version}: have the older one of both updated.",
        ) from None


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
