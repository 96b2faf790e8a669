"""What people read is plain English: messages, help, pages, docs, packages and studies have no riddles."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
#: Riddles, and what to write instead.
RIDDLES = {
    r"\bto be had\b": "available",
    r"\b[Ww]hoever\b": "the people who, or the subject itself",
    r"\bsaid of\b": "said about, known about",
    r"\b(?:tells?|told) of\b": "says, reports",
    r"(?<!there )(?<!There )\b(?:is|are) none\b": "there is none, is not one of",
    r"\bof (?:its|their|your|our) own\b": "its own …, or leave it out",
    r"\bLet (?!us\b)[a-z{]": "a verb that says what to do",
    r"(?<!there )(?<!There )\b(?:is|are) no (?!more\b|longer\b|[a-z]+er than\b)": "is not a",
    r"\b(?:is|are) detected\b": "was detected",
    r"\b(?:in|[Oo]f) none\b(?!\)| of (?:the|it|them|these|those)\b)": "in no …, none of … has",
    r"\b(?:is|are) (?:not )?seen\b": "was detected, shows",
    r"\b(?:can|cannot|could|could not) be told\b(?! apart\b)": "we cannot tell whether, is not known",
    r"(?:(?<=\S )b|\bB)eside\b(?! (?:{places}))": "besides, with, as well",
}
#: What something may run, lie or be shown beside; elsewhere people mean "besides" or "with".
PLACES = (
    r"`?run\.sh",
    r"`?datamill run",
    "a trial",
    "the (?:trial|measured|code|package|benchmark|published|peers|workers|mean|first|differences)",
    "its peers",
    "other preparations",
    "this (?:file|one)",
    "(?:them|others)\\b",
)
_PATTERNS = {
    re.compile(riddle.replace("{places}", "|".join(PLACES))): better for riddle, better in RIDDLES.items()
}
#: A string of Rust or JavaScript.
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`', re.DOTALL)


def list_texts(source: str) -> Iterator[str]:
    """What a Python module may print: strings, whole where they are formatted, and the help of commands."""
    tree = ast.parse(source)
    silent: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            silent.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            silent |= {id(part) for part in node.values}
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        if isinstance(node, ast.FunctionDef) and any(map(_makes_command, node.decorator_list)):
            yield ast.get_docstring(node) or ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node.value


def _makes_command(decorator: ast.expr) -> bool:
    """Whether it makes a function a command, whose docstring is printed as its help."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Attribute) and called.attr in ("command", "group")


def list_quoted(source: str) -> Iterator[str]:
    """Strings of a file in Rust or JavaScript, without its comments and with broken lines joined."""
    code = re.sub(r"(?m)^\s*//.*$", "", source).replace("'\"'", "''").replace("b'`'", "''")
    for match in _QUOTED.finditer(code):
        yield re.sub(r"\\\n\s*", "", match[1] or match[2] or "")


def list_whole(text: str) -> Iterator[str]:
    """The whole text: all of it is read."""
    yield text


def find_riddles(text: str) -> list[str]:
    """Return each riddle of a text, with what to write instead; phrases may cross lines."""
    line = " ".join(re.sub(r"(?m)^\s*(?:#|//) ?", "", text).split())
    return [
        f"{line[max(0, match.start() - 30) : match.end() + 30]!r}: write {better}"
        for pattern, better in _PATTERNS.items()
        for match in pattern.finditer(line)
    ]


def choose_reading(path: Path) -> Callable[[str], Iterator[str]] | None:
    """How the texts of a file that come with packages or studies are found; None where nobody reads it."""
    if path.suffix == ".py":
        return list_texts
    if path.suffix in (".md", ".toml", ".sh"):
        return list_whole
    if path.suffix:
        return None
    return list_texts if b"python" in path.read_bytes()[:40] else list_whole


#: Texts by kind, and how they are found in their files.
KINDS: dict[str, Callable[[str], Iterator[str]]] = {
    "src/**/*.py": list_texts,
    "src/**/*.html": list_whole,
    "src/**/*.toml": list_whole,
    "src/**/*.js": list_quoted,
    "crates/**/*.rs": list_quoted,
    "docs/**/*.md": list_whole,
    "*.md": list_whole,
    "protocol/*/*.json": list_whole,
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_is_a_riddle(kind: str) -> None:
    paths = sorted(ROOT.glob(kind))
    assert paths
    assert find_in_files((path, KINDS[kind]) for path in paths) == []


@pytest.mark.parametrize("folder", ["packages", "studies"])
def test_nothing_that_comes_with_datamill_is_a_riddle(folder: str) -> None:
    paths = [
        path for path in sorted((ROOT / folder).rglob("*")) if path.is_file() and "target" not in path.parts
    ]
    read = [(path, reading) for path in paths if (reading := choose_reading(path)) is not None]
    assert read
    assert find_in_files(iter(read)) == []


def find_in_files(files: Iterator[tuple[Path, Callable[[str], Iterator[str]]]]) -> list[str]:
    """Return the riddles of files, each with its file."""
    return [
        f"{path.relative_to(ROOT)}: {riddle}"
        for path, reading in files
        for text in reading(path.read_text(encoding="utf-8"))
        for riddle in find_riddles(text)
    ]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("tell whoever runs it", 1),
        ("nothing can be said of it", 1),
        ("a name of its own", 1),
        ("a name of\n  its own", 1),
        ("There are none.", 0),
        ("this table is none", 1),
        ("its own name", 0),
        ("'x' is no duration", 1),
        ("there is no duration", 0),
        ("there are no\ntrials", 0),
        ("it is no longer there, and is no better than before", 0),
        ("No effect is detected", 1),
        ("Let it end first", 1),
        ("let it end first", 0),
        ("runs beside run.sh", 0),
        ("given beside it", 1),
    ],
)
def test_a_riddle_is_told_from_plain_words(text: str, count: int) -> None:
    assert len(find_riddles(text)) == count


def test_texts_are_read_whole_and_docstrings_only_where_they_are_help() -> None:
    source = '''
"""A module."""
@group.command()
def verb():
    """Let it run."""
def other():
    """Let it be."""
    return f"{x!r} is no " f"{kind}", "a" " b"
'''
    assert sorted(list_texts(source)) == ["Let it run.", "a b", "{} is no {}"]


def test_strings_of_rust_are_joined_and_comments_left_out() -> None:
    source = '// "none"\nlet a = "one \\\n    two"; let b = \'"\';\nlet c = "a \\"b\\"";'
    assert list(list_quoted(source)) == ["one two", 'a \\"b\\"']
