"""The words of datamill, each with one meaning: what docs, reports and the coordinator's pages explain."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

#: The files of `entries/`, in the order in which docs/glossary.md lists their words.
SUBJECTS = (
    "question",
    "factors",
    "design",
    "sequence",
    "repetition",
    "trials",
    "fleet",
    "results",
    "statistics",
    "prediction",
)
_HEAD = """\
# Glossary

One word, one meaning. This page is written from `src/datamill/report/words/entries`; reports and the
coordinator's pages take their words from there, too. Change it there, then run `make glossary`.

| word | meaning here | in the code |
|---|---|---|
"""
_FOOT = """
Not used: *test* for trial, *run* as a noun for trial, *sample* for one value, *significant* without alpha,
*outlier* as a verb.
"""


@dataclass(frozen=True, slots=True)
class Word:
    """A word and what it means here, an entry of a file in `entries/`.

    `key` names its place on a page; `short` is one sentence and `more` says why it matters. `code` is where
    it lives. `pattern` finds it in the text of a report, in small letters; reports do not explain words
    without one. The coordinator's page of words has those that are `offered`.
    """

    key: str
    title: str
    short: str
    more: str = ""
    code: str = ""
    pattern: str = ""
    offered: bool = False

    @property
    def meaning(self) -> str:
        """All that is said about it."""
        return f"{self.short} {self.more}".rstrip()

    @property
    def names(self) -> tuple[str, ...]:
        """What it is looked up by: the parts of its title, `aliased` and `resolution`."""
        return tuple(re.sub(r" \(.*\)$", "", part) for part in self.title.split(", "))


@lru_cache(maxsize=1)
def read_words() -> tuple[Word, ...]:
    """Return all words, in the glossary's order."""
    return tuple(word for subject in SUBJECTS for word in read_subject(subject))


def read_subject(subject: str) -> tuple[Word, ...]:
    """Return the words of one of `SUBJECTS`, in the order of its file."""
    text = files("datamill.report.words").joinpath("entries", f"{subject}.toml").read_text(encoding="utf-8")
    return tuple(Word(**entry) for entry in tomllib.loads(text)["word"])


def list_report_words() -> tuple[Word, ...]:
    """Return the words that reports explain."""
    return tuple(word for word in read_words() if word.pattern)


def choose_words(texts: Sequence[str]) -> tuple[Word, ...]:
    """Return the words that stand in one of the texts of a report."""
    text = "\n".join(texts).lower()
    return tuple(word for word in list_report_words() if re.search(word.pattern, text))


def find_words(asked: str) -> tuple[Word, ...]:
    """Return the words of a name, however it is spelled; else those whose title contains it."""
    name = _spell_plainly(asked)
    names = {name, name.removesuffix("s"), name.removesuffix("es")}
    exact = [word for word in read_words() if names & set(map(_spell_plainly, (word.key, *word.names)))]
    held = [word for word in read_words() if len(name) > 1 and name in _spell_plainly(word.title)]
    return tuple(exact or held)


def _spell_plainly(name: str) -> str:
    return " ".join(name.lower().replace("-", " ").split())


def format_glossary() -> str:
    """Return the glossary as a page of the documentation, in Markdown."""
    rows = (f"| {word.title} | {_escape(word.meaning)} | {_escape(word.code)} |\n" for word in read_words())
    return _HEAD + "".join(rows) + _FOOT


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(format_glossary(), end="")
