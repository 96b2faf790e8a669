"""JSON of the commands, as the verbs in Python have it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from datamill.cli.console import escape_for_terminal
from datamill.report.tables.envelope import write_result


def spell_answer(*sentences: str, warnings: Iterable[str] = (), **found: object) -> str:
    """Write what a command found as JSON, in which others have a say, with nothing that a terminal obeys.

    Args:
        sentences: the answer; the first one says what was found.
        warnings: sentences, each once.
        found: records, mappings, lists of them or plain values, under their keys.
    """
    values = {name: msgspec.to_builtins(value) for name, value in found.items()}
    return escape_for_terminal(write_result(sentences, values, tuple(warnings)))
