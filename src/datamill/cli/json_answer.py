"""JSON of the commands: one object that begins with its schema and its answer and ends with its warnings."""

from __future__ import annotations

import json
from collections.abc import Iterable

import msgspec

#: A key that goes or takes another meaning takes another number; one that comes does not.
SCHEMA = 1


def spell_answer(answer: str, items: object = (), *, warnings: Iterable[str] = (), **named: object) -> str:
    """Write what a command found as JSON, as the verbs in Python do.

    Args:
        answer: one sentence that says what was found.
        items: a record or mapping whose fields stand in the object itself.
        warnings: sentences, each once.
        named: what was found: records, mappings, lists of them or plain values, under their keys.
    """
    content = {
        "schema": SCHEMA,
        "answer": [answer],
        **dict(msgspec.to_builtins(items)),
        **{name: msgspec.to_builtins(value) for name, value in named.items()},
        "warnings": list(dict.fromkeys(warnings)),
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
