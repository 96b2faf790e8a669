"""The keys of a JSON document, with the keys that they lie in."""

from __future__ import annotations

from typing import Any


def list_keys(value: Any, place: str = "") -> set[str]:
    """Places of a JSON value; `[]` stands for any element of a list."""
    inner = (
        [(f"{place}.{name}" if place else name, item) for name, item in value.items()]
        if isinstance(value, dict)
        else [(f"{place}[]", item) for item in value]
        if isinstance(value, list)
        else []
    )
    return {place} - {""} | {key for name, item in inner for key in list_keys(item, name)}
