"""How much TOML is read: checked before the parser, for which some short texts are work without end.

The parser of the standard library takes time and memory with the square of a key's parts, goes as deep as
the text does, and hands on whole numbers that nothing can write down. What is refused here is far beyond any
experiment; what is left takes time and memory in proportion to its length.
"""

from __future__ import annotations

import re
from typing import NoReturn

from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_count
from datamill.experiment.quantities import format_size

#: Largest text.
MOST_BYTES = 1 << 20
#: Parts of one key such as `a.b.c`, and of all keys and section names of a text.
MOST_PARTS = 16
MOST_PARTS_IN_ALL = 20_000
#: Lists and tables in each other.
DEEPEST = 32
#: Characters of a number, and of a key without quotes.
LONGEST_NUMBER = 64
LONGEST_WORD = 256

# Possessive throughout: no text makes the expression try twice.
_TOKEN = re.compile(
    r'(?P<string>"""(?:[^"\\]++|\\.|"(?!""))*+(?:"{3,5}+)?'
    r"|'''(?:[^']++|'(?!''))*+(?:'{3,5}+)?"
    r'|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?+'
    r"|'[^'\n]*+'?+)"
    r"|(?P<word>[^\s\"'#\[\]{}.,=]++)"
    r"|(?P<mark>[\n\[\]{}.,=])"
    r"|(?:[^\S\n]|\#[^\n]*+)++",
    re.DOTALL,
)


def check_toml_budget(text: str, *, name: str) -> None:
    """Refuse a text that a TOML parser should not be given; one that is no TOML at all is left to it.

    Args:
        text: of the file.
        name: of the file, for messages.

    Raises:
        InputError: when it is too large, or a key is too long or has too many parts, a number is too long,
            lists and tables stand too deep in each other, or there are too many keys; with the line.
    """
    # No character has more than four bytes: most texts need no counting.
    if 4 * len(text) > MOST_BYTES and len(text.encode(errors="replace")) > MOST_BYTES:
        raise InputError(
            f"the file is larger than {format_size(MOST_BYTES)}",
            where=name,
            remedy="Name fewer packages, factors or levels.",
        )
    _Scan(name).run(text)


class _Scan:
    """Goes through a text once, word by word."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._line = 1
        #: Parts of the key that is being read, whether it goes on behind a dot, and parts of all keys.
        self._parts = 0
        self._dotted = False
        self._in_all = 0

    def run(self, text: str) -> None:
        depth = 0
        for token in _TOKEN.finditer(text):
            kind = token.lastgroup
            if kind == "word":
                self._check_word(token.end() - token.start(), text[token.start()])
                self._add_part()
            elif kind == "string":
                self._add_part()
                self._line += text.count("\n", token.start(), token.end())
            elif kind == "mark":
                mark = text[token.start()]
                if mark == ".":
                    self._dotted = True
                    continue
                if mark in "=]":
                    self._count_key()
                self._parts = 0
                self._dotted = False
                if mark in "[{":
                    depth += 1
                    if depth > DEEPEST:
                        self._refuse(
                            f"lists or tables stand more than {DEEPEST} deep in each other",
                            "Nothing in an experiment needs that: close what is open.",
                        )
                elif mark in "]}":
                    depth = max(0, depth - 1)
                elif mark == "\n":
                    self._line += 1

    def _check_word(self, length: int, first: str) -> None:
        if length > LONGEST_NUMBER and first in "+-0123456789":
            self._refuse(f"a number has more than {LONGEST_NUMBER} characters", "Write a smaller one.")
        if length > LONGEST_WORD:
            self._refuse(f"a key has more than {LONGEST_WORD} characters", "Put texts in quotes.")

    def _add_part(self) -> None:
        self._parts = self._parts + 1 if self._dotted else 1
        self._dotted = False
        if self._parts > MOST_PARTS:
            self._refuse(
                f"a key has more than {MOST_PARTS} parts with dots between them",
                "Keys of an experiment have at most three.",
            )

    def _count_key(self) -> None:
        self._in_all += self._parts
        if self._in_all > MOST_PARTS_IN_ALL:
            self._refuse(
                f"there are more than {format_count(MOST_PARTS_IN_ALL)} keys and sections",
                "Name fewer packages, factors or levels.",
            )

    def _refuse(self, message: str, remedy: str) -> NoReturn:
        raise InputError(message, where=f"{self._name}:{self._line}", remedy=remedy)
