"""What people read is plain English: messages, pages and docs have no riddles."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
#: Riddles, and what to write instead.
RIDDLES = {
    r"\bto be had\b": "available",
    r"\b[Ww]hoever\b": "the people who, or the subject itself",
    r"(?<!be )\bsaid of\b": "about",
    r"\b(?:tells|told) of\b": "says, reports",
    r"\bis none of\b": "is not one of",
    r"\bare none\b": "do not exist, there are none",
    r"\b(?:an?|one) [\w -]+ of its own\b": "its own …",
    r"\bLet its\b": "a verb of what to do",
}


def list_texts(source: str) -> Iterator[str]:
    """Strings of a module that are no docstrings: what it may print."""
    tree = ast.parse(source)
    docs = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def find_riddles(text: str) -> list[str]:
    """Return each riddle of a text, with what to write instead."""
    return [
        f"{match[0]!r}: write {better}"
        for pattern, better in RIDDLES.items()
        for match in re.finditer(pattern, text)
        if match[0] != "are none" or "there are none" not in text.lower()
    ]


def test_no_message_is_a_riddle() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {riddle}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for text in list_texts(path.read_text(encoding="utf-8"))
        for riddle in find_riddles(text)
    ]
    assert found == []


def test_no_message_of_the_worker_is_a_riddle() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {riddle}"
        for path in sorted((ROOT / "crates").rglob("*.rs"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if not line.lstrip().startswith("//")
        for riddle in find_riddles(line)
    ]
    assert found == []


@pytest.mark.parametrize("kind", ["src/**/*.html", "docs/**/*.md", "*.md", "protocol/*.json"])
def test_no_page_is_a_riddle(kind: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {riddle}"
        for path in sorted(ROOT.glob(kind))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        for riddle in find_riddles(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("tell whoever runs it", 1),
        ("nothing can be said of it", 0),
        ("said of a fleet", 1),
        ("a name of its own", 1),
        ("There are none.", 0),
        ("its own name", 0),
    ],
)
def test_a_riddle_is_told_from_plain_words(text: str, count: int) -> None:
    assert len(find_riddles(text)) == count
