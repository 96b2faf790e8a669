"""Each word by which a warning is ranked stands in a warning that the code can really give."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import datamill
from datamill.report.words import warning_order

SOURCES = Path(datamill.__file__).parent
#: Rooms whose sentences reach an answer's warnings.
ROOMS = ("analysis", "verbs", "results", "report", "design")
PATTERNS = [
    alternative
    for pattern in (*warning_order._WORST, warning_order._LAST)
    for alternative in pattern.split("|")
]


@cache
def list_sentences() -> tuple[str, ...]:
    """Every text of the rooms' code but docstrings and the ranks themselves; `#` stands for values."""
    found = []
    for file in (file for room in ROOMS for file in (SOURCES / room).rglob("*.py")):
        if file.name == "warning_order.py":
            continue
        tree = ast.parse(file.read_text())
        alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                found.append(
                    "".join(part.value if isinstance(part, ast.Constant) else "#" for part in node.values)
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
                found.append(node.value)
    return tuple(found)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_ranked_word_stands_in_a_warning_of_the_code(pattern: str) -> None:
    """A reworded warning would silently lose its rank: then its pattern is to be reworded as well."""
    said = [text for text in list_sentences() if re.search(pattern, text) and " " in text.strip()]
    assert said, f"no sentence of the code matches {pattern!r} any more"
