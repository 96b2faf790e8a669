"""What people say of a bundle that they hand on: title, authors, licence, and how it is cited."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from datamill.experiment.errors import InputError

#: Licences that a bundle may be under, by their SPDX name, and where each is to be read.
LICENCES = {
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "MIT": "https://opensource.org/licenses/MIT",
    "Apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
}
USUAL_LICENCE = "CC-BY-4.0"
_MOST_AUTHORS = 100
_MOST_CHARACTERS = 2000
#: What is no text, and what terminals obey or turns the direction of what follows round.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
Line = Annotated[str, Meta(min_length=1, max_length=300)]


class Author(msgspec.Struct, frozen=True):
    """A person, or an organisation that has a family name only."""

    family: Line
    given: str = ""

    @property
    def name(self) -> str:
        """The name as it is spoken."""
        return f"{self.given} {self.family}".strip()


class Description(msgspec.Struct, frozen=True):
    """What a crate or a publication says of itself; `published_unix_s` is when it was handed on.

    `address` is where it can be found for ever, empty where there is no such place; `digest` is the SHA-256
    of the file that is cited, empty inside of that file.
    """

    title: Line
    authors: tuple[Author, ...]
    licence: str
    published_unix_s: float
    summary: str = ""
    address: str = ""
    digest: str = ""

    @property
    def date(self) -> str:
        """The day of publication (UTC)."""
        return f"{datetime.fromtimestamp(self.published_unix_s, UTC):%Y-%m-%d}"


def read_authors(text: str) -> tuple[Author, ...]:
    """Read one author a line: `Family, Given`, or one name that is taken as it is.

    Raises:
        InputError: there is nobody, or too many, or a name is too long.
    """
    found = []
    for line in clean_text(text).splitlines():
        family, _, given = (part.strip() for part in line.partition(","))
        if not (family or given):
            continue
        if len(family) > 300 or len(given) > 300:
            raise InputError(f'the name "{family[:40]}…" is too long', remedy="Write up to 300 characters.")
        found.append(Author(family or given, given if family else ""))
    if not found:
        raise InputError("there is no author", remedy="Name at least one: Family, Given.")
    if len(found) > _MOST_AUTHORS:
        raise InputError(f"{len(found)} authors are too many", remedy=f"Name up to {_MOST_AUTHORS}.")
    return tuple(found)


def describe(
    title: str, authors: str, licence: str, *, now_s: float, summary: str = "", address: str = ""
) -> Description:
    """Return a description of what a person typed.

    Raises:
        InputError: there is no title or author, one is too long, or nobody knows the licence.
    """
    title = " ".join(clean_text(title).split())
    if not title:
        raise InputError("there is no title", remedy="Give one: what was asked, in a few words.")
    if len(title) > 300:
        raise InputError("the title is too long", remedy="Write up to 300 characters.")
    if licence not in LICENCES:
        raise InputError(
            f'the licence "{licence[:40]}" is not one of those offered',
            remedy=f"Choose: {', '.join(LICENCES)}.",
        )
    short = clean_text(summary).strip()[:_MOST_CHARACTERS]
    return Description(title, read_authors(authors), licence, now_s, short, address)


def clean_text(text: str) -> str:
    """Return a text of people without characters that are no text."""
    return _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
