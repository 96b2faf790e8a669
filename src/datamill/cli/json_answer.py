"""JSON of the commands, as the verbs in Python have it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from datamill.report.tables.envelope import write_result


def spell_answer(*sentences: str, warnings: Iterable[str] = (), **found: object) -> str:
    """Write what a command found as JSON.

    Args:
        sentences: the answer; the first one says what was found.
        warnings: sentences, each once.
        found: records, mappings, lists of them or plain values, under their keys.
    """
    values = {name: msgspec.to_builtins(value) for name, value in found.items()}
    return write_result(sentences, values, tuple(warnings))
