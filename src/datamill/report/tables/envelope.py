"""What all JSON of results has in common: how it begins and ends, and what stands for an infinity."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

#: The version of the keys: one that goes, or has another name, makes it a larger number.
SCHEMA = 1


def write_result(answer: Sequence[str], numbers: Mapping[str, Any], warnings: Sequence[str]) -> str:
    """Write a result as JSON: `schema`, the `answer` in sentences, its numbers, `warnings`, each once."""
    content = {
        "schema": SCHEMA,
        "answer": list(answer),
        **numbers,
        "warnings": list(dict.fromkeys(warnings)),
    }
    return write_json(content)


def write_json(content: Mapping[str, Any]) -> str:
    """Write values with every digit; what is infinite or no number is null."""
    return json.dumps(drop_infinities(content), indent=2, ensure_ascii=False, allow_nan=False)


def drop_infinities(value: Any) -> Any:
    """The same with null for numbers that JSON does not know."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: drop_infinities(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [drop_infinities(item) for item in value]
    return value
