"""The table of attacks: who tried what, and what became of it; from reports of tests/integration/hostile."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

FOLDER = "tests/integration/hostile/"
#: Beginning of a file's name -> who attacks.
ATTACKERS = {
    "test_every_route": "anybody",
    "test_rights": "anybody",
    "test_texts": "anybody",
    "test_uploads": "user",
    "test_stranger": "stranger",
    "test_user": "user",
    "test_viewers": "user",
    "test_worker": "worker",
    "test_package": "package",
    "test_network": "network",
}
_OUTCOMES = {"passed": "held", "failed": "NOT HELD", "skipped": "not tried"}


def is_attack(test: str) -> bool:
    """Tell whether a test belongs to the table."""
    return test.startswith(FOLDER)


def format_attacks(reports: Iterable[pytest.TestReport]) -> str:
    """Return the table, a line for each attack by attacker, and the counts below it."""
    rows = sorted({_describe(report) for report in reports})
    lines = [f"{attacker:<9} {outcome:<9} {attack}\n" for attacker, attack, outcome in rows]
    counts = {outcome: sum(row[2] == outcome for row in rows) for outcome in _OUTCOMES.values()}
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    return f"{'attacker':<9} {'outcome':<9} what must hold\n{''.join(lines)}{told}\n"


def _describe(report: pytest.TestReport) -> tuple[str, str, str]:
    path, _, name = report.nodeid.partition("::")
    file = path.rpartition("/")[2]
    attacker = next((who for start, who in ATTACKERS.items() if file.startswith(start)), "other")
    sentence, _, case = name.removeprefix("test_").partition("[")
    attack = sentence.replace("_", " ") + (f": {case.removesuffix(']')}" if case else "")
    reason = f" ({report.longrepr[2]})" if isinstance(report.longrepr, tuple) else ""
    return attacker, attack + reason, _OUTCOMES[report.outcome]
