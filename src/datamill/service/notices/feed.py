"""A user's notices as a feed that any reader of news takes: Atom, RFC 4287."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from xml.etree import ElementTree

from datamill.service.models import Event
from datamill.service.notices.rounds import describe_event

_ATOM = "http://www.w3.org/2005/Atom"
#: What XML 1.0 cannot hold, however it is written.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_feed(user: str, url: str, events: Iterable[Event], now_s: float) -> bytes:
    """Return the feed of a user's events.

    Args:
        user: whose feed it is.
        url: address of the coordinator.
        events: the latest first.
        now_s: when a feed without events was last changed.
    """
    feed = ElementTree.Element("feed", xmlns=_ATOM)
    told = [describe_event(event) for event in events]
    _add(feed, "title", f"datamill: {user}")
    _add(feed, "id", f"{url}/notices/{user}")
    _add(feed, "updated", told[0].timestamp if told else datetime.fromtimestamp(now_s, UTC).isoformat())
    author = ElementTree.SubElement(feed, "author")
    _add(author, "name", "datamill")
    for body in told:
        entry = ElementTree.SubElement(feed, "entry")
        what = body.type.replace(".", " ")
        _add(entry, "title", f"{what}: {body.data.name}")
        _add(entry, "id", f"{url}/events/{body.data.event}")
        _add(entry, "updated", body.timestamp)
        _add(entry, "summary", body.data.detail or what)
        if body.data.url:
            ElementTree.SubElement(entry, "link", href=_NO_XML.sub("", body.data.url))
    text = ElementTree.tostring(feed, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}'.encode()


def _add(parent: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(parent, name).text = _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
