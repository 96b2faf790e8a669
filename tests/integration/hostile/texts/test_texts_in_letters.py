"""Texts of others in mails, feeds and citations: no header, element or field of their own."""

from __future__ import annotations

from email.message import EmailMessage
from types import TracebackType
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from integration.hostile.texts.inert import check_xml
from integration.hostile.texts.marked_texts import write_text

from datamill.protocol.api.notices import NoticeBody, NoticeData
from datamill.results.crates.citation import cite_as_bibtex, cite_as_cff, cite_as_text
from datamill.results.crates.description import describe
from datamill.service.models import Event
from datamill.service.notices import mail
from datamill.service.notices.feed import write_feed
from datamill.service.notices.mail import MailServer, send_mail
from datamill.service.notices.rounds import spell_notice

MARK = "dm000q"
TEXT = f"{write_text(MARK)}\r\nBcc: {MARK}@example.org\r\n\r\n.\r\n\0"
OBEYED = "\x1b\x9b\x07\x08\u202e\u2066\0"


class PlayedServer:
    """A mail server that keeps what it is given."""

    def __init__(self) -> None:
        self.messages: list[EmailMessage] = []

    def __enter__(self) -> PlayedServer:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        return None

    def send_message(self, message: EmailMessage) -> None:
        self.messages.append(message)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> PlayedServer:
    played = PlayedServer()
    monkeypatch.setattr(mail, "_connect", lambda _: played)
    return played


def test_a_mail_has_no_header_of_a_text_and_nothing_that_a_terminal_obeys(server: PlayedServer) -> None:
    notice = NoticeBody(f"a.{TEXT}", "now", NoticeData(1, 1, TEXT, TEXT, "http://mill/experiments/1"))
    send_mail(
        MailServer("h", 25, "none", "", "", "mill@example.org"), "ada@example.org", *spell_notice(notice)
    )
    (message,) = server.messages
    assert [name.lower() for name in message if "content" not in name.lower()] == [
        "from", "to", "subject", "auto-submitted", "mime-version",
    ]  # fmt: skip
    assert message.get_content_type() == "text/plain"
    assert MARK in message["Subject"]
    assert MARK in message.get_content()
    assert not set(OBEYED) & set(message["Subject"] + message.get_content())
    # As it goes over the wire: one body, and no line that ends it.
    assert b"\nBcc:" not in message.as_bytes().partition(b"\n\n")[0]


def test_a_feed_has_no_element_of_a_text_and_is_read_by_any_reader() -> None:
    event = Event(pk=1, unix_s=1.8e9, kind=f"experiment {TEXT}", detail=TEXT)
    feed = write_feed(TEXT, f"http://mill/{TEXT}", [event], 1.8e9).decode()
    assert check_xml(feed) == []
    root = ElementTree.fromstring(feed)
    atom = "{http://www.w3.org/2005/Atom}"
    assert len(root.findall(f"{atom}entry")) == 1
    assert MARK in (root.findtext(f"{atom}entry/{atom}summary") or "")


def make_description() -> Any:
    return describe(
        TEXT, f"{TEXT}\n{MARK}, {write_text(MARK)}", "MIT", now_s=1.8e9, summary=TEXT, address=TEXT[:20]
    )


def test_citations_hold_texts_in_the_fields_that_they_are_for() -> None:
    said = make_description()
    cited = yaml.safe_load(cite_as_cff(said))
    assert set(cited) == {
        "cff-version",
        "message",
        "type",
        "title",
        "authors",
        "date-released",
        "license",
        "url",
        "abstract",
    }
    assert cited["title"] == said.title
    assert all(set(author) <= {"name", "family-names", "given-names"} for author in cited["authors"])
    entry = cite_as_bibtex(said)
    depth = 0
    plain = entry.replace("\\{", "").replace("\\}", "")
    for letter in plain:
        depth += (letter == "{") - (letter == "}")
        assert depth >= 0, entry
    assert depth == 0
    fields = sum(line.startswith("  ") and " = {" in line for line in entry.splitlines())
    assert fields == len(entry.splitlines()) - 2
    # What TeX would execute is written as itself.
    assert "\\input" not in entry
    assert not set(OBEYED) & set(cite_as_text(said) + entry + cite_as_cff(said))
