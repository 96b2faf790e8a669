"""An experiment file's tables as TOML text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def format_toml(tables: Mapping[str, Any]) -> str:
    """Return the TOML text of tables as `tomllib` reads them; tables within a section take one line each.

    Raises:
        TypeError: for a value that no experiment file has, such as a date.
    """
    sections = []
    for name, value in tables.items():
        entries = value if isinstance(value, list) else [value]
        head = f"[[{_format_key(name)}]]" if isinstance(value, list) else f"[{_format_key(name)}]"
        for entry in entries:
            if not isinstance(entry, Mapping):
                raise TypeError(f"{name} is not a table")
            lines = [f"{_format_key(key)} = {_format_value(item)}" for key, item in entry.items()]
            sections.append("\n".join([head, *lines]) + "\n")
    return "\n".join(sections)


def _format_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _format_value(key)


def _format_value(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(_format_value(item) for item in value)}]"
    if isinstance(value, Mapping):
        return (
            f"{{ {', '.join(f'{_format_key(key)} = {_format_value(item)}' for key, item in value.items())} }}"
        )
    raise TypeError(f"{value!r} is not a value of an experiment file")
