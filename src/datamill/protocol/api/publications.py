"""Publications and re-runs over the API."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

#: JSON that is left as it is: a union with None would take nothing else.
NOTHING = msgspec.Raw(b"null")
Text = Annotated[str, Meta(max_length=2000, pattern=r"^[^\x00]*$")]


class PublicationLine(msgspec.Struct, frozen=True):
    """A publication; of a withdrawn one `headline` is empty and `withdrawn` says why.

    `address` is that of its page, `archive` that of its RO-Crate. `intact` is false where the archive is not
    what was published, and then the result is not shown.
    """

    key: str
    experiment: int
    title: str
    authors: tuple[str, ...]
    licence: str
    published_unix_s: float
    sha256: str
    size_bytes: int
    address: str
    archive: str
    citation: str
    headline: str
    intact: bool
    withdrawn: str


class PublishRequest(msgspec.Struct, frozen=True):
    """What a publication says of itself, and which parts of the bundle stay away; it is for everybody.

    Of `authors` each is `Family, Given`, or one name that is taken as it is; `organisation`, where they work,
    is `Name <https://address>`, or the name alone.
    """

    title: Text
    authors: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=100)]
    licence: Text = "CC-BY-4.0"
    summary: Text = ""
    hold_back: Annotated[tuple[Literal["artifacts"], ...], Meta(max_length=10)] = ()
    organisation: Text = ""


class WithdrawalRequest(msgspec.Struct, frozen=True):
    """Why a publication is withdrawn: readers find it at the address."""

    reason: Text


class PublishedAnswer(msgspec.Struct, frozen=True):
    """What a publication answers, fixed when it was made; effects in `headline` have their intervals."""

    key: str
    experiment: str
    question: str
    headline: str
    details: tuple[str, ...]
    mattered: tuple[str, ...]
    warnings: tuple[str, ...]
    n: int
    method: str
    trials: int
    machines: tuple[str, ...]
    version: str
    sha256: str


class RerunRequest(msgspec.Struct, frozen=True):
    """A re-run; `margin` is the share by which a ratio may differ and still be the same result."""

    margin: Annotated[float, Meta(gt=0, lt=1)] = 0.05


class AcceptedRerun(msgspec.Struct, frozen=True):
    """The experiment that runs another one again."""

    id: int
    original: int
    margin: float
    trials: int


class RerunLine(msgspec.Struct, frozen=True):
    """A re-run of an experiment; `judgement` is `datamill reproduce --json`, null before both have ended."""

    id: int
    original: int
    owner: str
    state: str
    margin: float
    made_unix_s: float
    verdict: Literal["", "reproduced", "not reproduced", "undecided"]
    judgement: msgspec.Raw = NOTHING
