"""JSON of the commands: one object that begins with its schema and its answer and ends with its warnings."""

from __future__ import annotations

import json
from collections.abc import Iterable

import msgspec

#: A key that goes or takes another meaning takes another number; one that comes does not.
SCHEMA = 1


def spell_answer(*sentences: str, warnings: Iterable[str] = (), **found: object) -> str:
    """Write what a command found as JSON, as the verbs in Python do.

    Args:
        sentences: the answer; the first one says what was found.
        warnings: sentences, each once.
        found: records, mappings, lists of them or plain values, under their keys.
    """
    content = {
        "schema": SCHEMA,
        "answer": list(sentences),
        **{name: msgspec.to_builtins(value) for name, value in found.items()},
        "warnings": list(dict.fromkeys(warnings)),
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
