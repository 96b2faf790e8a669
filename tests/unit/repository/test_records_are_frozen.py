"""A record says what was; what changes while something goes on is the exception, and says why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[3] / "src" / "datamill"
#: Dataclasses whose fields are assigned again, and why.
CHANGING = {
    "HashingQueue": "hands out turns; its locks are made when it is",
    "Ledger": "collects what a batch of reports changes, until it is written at once",
    "WorkerLedger": "the part of the ledger that is of workers",
    "Measured": "grows while the rounds of a gate go on",
    "TrialEntry": "is a row of the ledger, changed by one report after another",
    "AttemptEntry": "is a row of the ledger, changed by one report after another",
    "WorkerEntry": "is a row of the ledger, changed by one report after another",
    "WarmUp": "grows while rounds are executed that do not count",
    "SymbolCounts": "is added to for each line of a profile, of which there are millions",
    "_Place": "is where the reading of a profile stands, of which there are millions of lines",
    "_Call": "is a system call that has not returned yet, while events are read",
    "_Request": "is a block request that is under way, while events are read",
    "_Kind": "counts a line of the log that comes again and again",
    "_Repeat": "is a delay that doubles",
}


def list_dataclasses(text: str) -> Iterator[tuple[str, bool]]:
    """The dataclasses of a file: their names, and whether they are frozen."""
    for node in ast.walk(ast.parse(text)):
        for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else ():
            name = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(name, ast.Name) and name.id == "dataclass":
                given = decorator.keywords if isinstance(decorator, ast.Call) else []
                assert isinstance(node, ast.ClassDef)
                yield node.name, any(keyword.arg == "frozen" for keyword in given)


def list_changing() -> set[str]:
    """The names of all dataclasses that are not frozen."""
    texts = [path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")]
    # To read a file as a tree takes long.
    found = [item for text in texts if "@dataclass" in text for item in list_dataclasses(text)]
    assert len(found) > 500, "the sources were not found"
    return {name for name, is_frozen in found if not is_frozen}


def test_a_dataclass_is_frozen_unless_it_says_why_it_changes() -> None:
    assert list_changing() == set(CHANGING), "write frozen=True, or here why its fields are assigned again"


def test_dataclasses_are_told_apart_by_their_decorator() -> None:
    text = (
        "@dataclass(frozen=True, slots=True)\nclass Still: ...\n"
        "@dataclass(slots=True)\nclass Growing: ...\n"
        "@dataclass\nclass Bare: ...\n"
        "class Plain: ...\n"
    )
    assert list(list_dataclasses(text)) == [("Still", True), ("Growing", False), ("Bare", False)]
