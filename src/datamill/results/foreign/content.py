"""The content of a foreign file: text, and JSON where it is that."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import command

_T = TypeVar("_T")
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Content:
    """Text of a file with its name for messages; `beside` holds files that belong to it, by name."""

    source: str
    text: str
    beside: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        # Only these end a line of a file: a line separator of Unicode may stand in a text of JSON.
        lines = re.split("\r\n|[\r\n]", self.text)
        return lines if lines[-1] else lines[:-1]

    @cached_property
    def document(self) -> Any:
        """The value of a JSON file; None when it is none, or is not whole."""
        if not self.looks_like_json:
            return None
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    @property
    def looks_like_json(self) -> bool:
        """Whether the text begins as a JSON object or array."""
        return self.text.lstrip()[:1] in ("{", "[")

    @cached_property
    def first_object(self) -> Mapping[str, Any]:
        """The JSON object on the first line that is not blank, as JSON Lines have; empty if there is none."""
        line = next((line for line in self.lines if line.strip()), "")
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def has_keys(self, *keys: str) -> bool:
        """Whether the document is a JSON object with these keys."""
        return isinstance(self.document, dict) and all(key in self.document for key in keys)


def decode_text(data: bytes, source: str) -> str:
    """Return the text of a file in UTF-8, or in the UTF-16 that a Windows shell writes.

    Raises:
        InputError: the file is empty or not text.
    """
    if not data.strip():
        raise InputError(
            "the file is empty", where=source, remedy="Measure again, and wait until the tool has ended."
        )
    try:
        text = data.decode("utf-16" if data.startswith(_UTF16_MARKS) else "utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InputError(
            "the file is not text",
            where=source,
            remedy=f"Give the JSON or text file that the tool writes; {command('import', help=True)} "
            "names them.",
        )
    return text


def refuse_broken_json(content: Content) -> None:
    """Say where a file that begins as JSON goes wrong.

    Raises:
        InputError: the file begins as JSON and is none.
    """
    if not content.looks_like_json:
        return
    try:
        json.loads(content.text)
    except json.JSONDecodeError as error:
        ends = not content.text[error.pos :].strip() or error.msg.startswith("Unterminated string")
        raise InputError(
            "the JSON ends before it is complete" if ends else f"this is not JSON: {error.msg}",
            where=f"{content.source}:{error.lineno}",
            remedy="The tool was interrupted or is still writing; let it finish, or measure again."
            if ends
            else "Give the file as the tool wrote it.",
        ) from None
    except RecursionError:
        raise InputError("the JSON is nested too deeply", where=content.source) from None
    except ValueError:
        raise InputError(
            "a number of the JSON has too many digits",
            where=content.source,
            remedy="Give the file as the tool wrote it.",
        ) from None


def convert_document(content: Content, document: Any, kind: type[_T], title: str, *, line: int = 0) -> _T:
    """Return a JSON value as the record that a format prescribes; `line` is where it stands, if known.

    Raises:
        InputError: a field is missing or of another kind; names it.
    """
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at ")
        missing = re.fullmatch(r"Object missing required field `(.+)`", reason)
        at = place.strip("`").removeprefix("$").removeprefix(".")
        if missing:
            name = f"{at}.{missing[1]}" if at else missing[1]
            problem = f'the field "{name}" is missing'
        else:
            problem = f'the field "{at}" is wrong: {reason}'
        raise InputError(
            f"this is {title}, but {problem}",
            where=f"{content.source}:{line}" if line else content.source,
            remedy="Give the file as the tool wrote it.",
        ) from None


def describe_scalar(value: object) -> str:
    """Text of a JSON value for a table: true and false as JSON has them, numbers with all their digits."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
