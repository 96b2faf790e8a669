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
_MOST_TITLE = 300
_MOST_CHARACTERS = 2000
_ORGANISATION = re.compile(r"(?P<name>[^<>]{1,300}?)(?: ?<(?P<address>https?://[^\s<>\"]{1,280})>)?")
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


class Organisation(msgspec.Struct, frozen=True):
    """Where the authors work, which publishes the result; `address` is its page, or empty."""

    name: Line
    address: str = ""


class Description(msgspec.Struct, frozen=True):
    """What a crate or a publication says of itself; `published_unix_s` is when it was handed on.

    `licence` is a name of `LICENCES`, empty where the authors have given none. `address` is where it can be
    found for ever, empty where there is no such place; `digest` is the SHA-256 of the file that is cited,
    empty inside of that file.
    """

    title: Line
    authors: tuple[Author, ...]
    licence: str
    published_unix_s: float
    summary: str = ""
    address: str = ""
    digest: str = ""
    organisation: Organisation | None = None

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


def read_organisation(text: str) -> Organisation | None:
    """Read `Name <https://address>`, or the name alone; None where the text is empty.

    Raises:
        InputError: there is an address without a name, it is not one of the web, or the text is too long.
    """
    told = " ".join(clean_text(text).split())
    if not told:
        return None
    found = _ORGANISATION.fullmatch(told)
    if found is None:
        raise InputError(
            f'the organisation "{told[:80]}" cannot be read',
            remedy="Write its name, or: Name <https://address>.",
        )
    return Organisation(found["name"], found["address"] or "")


def describe(
    title: str,
    authors: str,
    licence: str,
    *,
    now_s: float,
    summary: str = "",
    address: str = "",
    organisation: str = "",
) -> Description:
    """Return a description of what a person typed.

    Raises:
        InputError: there is no title or author, one is too long, nobody knows the licence, or the
            organisation cannot be read.
    """
    title = " ".join(clean_text(title).split())
    if not title:
        raise InputError("there is no title", remedy="Give one: what was asked, in a few words.")
    if len(title) > _MOST_TITLE:
        raise InputError("the title is too long", remedy=f"Write up to {_MOST_TITLE} characters.")
    if licence not in LICENCES:
        raise InputError(
            f'the licence "{licence[:40]}" is not one of those offered',
            remedy=f"Choose: {', '.join(LICENCES)}.",
        )
    short = clean_text(summary).strip()[:_MOST_CHARACTERS]
    return Description(
        title,
        read_authors(authors),
        licence,
        now_s,
        short,
        address,
        organisation=read_organisation(organisation),
    )


def describe_unpublished(title: str, author: str, *, now_s: float) -> Description:
    """Return the description of a result that its author has not published: it has no licence."""
    shown = " ".join(clean_text(title).split())
    shown = f"{shown[: _MOST_TITLE - 1]}…" if len(shown) > _MOST_TITLE else shown
    return Description(shown, (Author(" ".join(clean_text(author).split())[:_MOST_TITLE]),), "", now_s)


def clean_text(text: str) -> str:
    """Return a text of people without characters that are no text."""
    return _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
