"""Texts typed into forms, searches and addresses come back as texts; fields are found in the templates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from integration.hostile.texts.inert import find_problems
from integration.hostile.texts.marked_texts import MARK, write_text
from integration.hostile.users.built_place import building_place
from integration.hostile.users.place import Place, count_writes, read_content
from integration.hostile.users.routes import ROUTES
from integration.hostile.users.samples import CHANGES, READS, Ask

from datamill.service import pages

TEMPLATES = Path(pages.__file__).parents[1] / "templates" / "datamill"
_FIELD = re.compile(r'<(?:input|select|textarea|button)\b[^>]*?\bname="([^"{]+)"')
_FORM = re.compile(r'<form [^>]*?method="(get|post)"(.*?)</form>', re.DOTALL)
TEXT = write_text("dm000q")


def list_fields(room: str, method: str) -> set[str]:
    """Return the fields of the forms of a room that are sent by a method, and those of parts of pages."""
    found: set[str] = set()
    for file in (TEMPLATES / room).rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        forms = "".join(form for kind, form in _FORM.findall(text) if kind == method)
        found |= set(_FIELD.findall(forms + _FORM.sub("", text)))
    return found


def list_rooms(resolver: Any = None, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield the address of each page, and the room that its view is in."""
    for item in (resolver or get_resolver()).url_patterns:
        path = before + str(item.pattern)
        if isinstance(item, URLResolver) and not path.startswith("api/"):
            yield from list_rooms(item, path)
        elif isinstance(item, URLPattern):
            module = getattr(item.callback, "__module__", "")
            if module.startswith(f"{pages.__name__}."):
                yield path, module.split(".")[3]


ROOMS = dict(list_rooms())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with building_place(tmp_path_factory.mktemp("place")) as place:
        yield place


def look(answer: Any, content: str) -> list[str]:
    """Return what is wrong with an answer to a text."""
    told = content.encode("latin-1").decode("utf-8", "replace")
    found = find_problems(answer.headers.get("Content-Type", "text/plain"), told, answer.headers)
    found += [f"{answer.status_code}"] if answer.status_code >= 500 else []
    target = answer.headers.get("Location", "")
    # Wherever it leads, it is on this site.
    leads_away = re.match(r"[a-z][a-z0-9+.-]*:|[/\\]{2}", target, re.IGNORECASE)
    return found + ([f"leads to {target}"] if leads_away else [])


def find_who(route: str, at: int) -> str:
    return "root" if ROUTES[route][at] in ("admin", "machine") else "ada"


def test_each_room_of_pages_has_fields_that_are_found() -> None:
    assert set(ROOMS.values()) >= {"accounts", "experiments", "fleet", "new_experiment", "publications"}
    assert {"search", "whose", "where", "verb"} <= list_fields("experiments", "get")
    assert {"title", "authors", "reason"} <= list_fields("publications", "post")


@pytest.mark.parametrize("room", sorted({*ROOMS.values()} - {"explanations"}))
def test_what_is_typed_into_an_address_comes_back_as_a_text(place: Place, room: str) -> None:
    wrong, met = [], 0
    # Names of fields may be typed as well.
    fields = [*sorted(list_fields(room, "get")), "fork", "page", "template", "next", "share-aslr", TEXT]
    for route in [route for route, of in ROOMS.items() if of == room and route in READS]:
        who, sound = find_who(route, 0), READS[route]
        answer, _ = place.ask(who, "GET", route, sound)
        is_page = answer.headers.get("Content-Type", "").startswith("text/html")
        # Of what is taken home, which takes longer to make, all fields are typed at once.
        for typed in [[field] for field in fields] if is_page else [fields]:
            asked = Ask(query="&".join([sound.query, *(f"{quote(field)}={quote(TEXT)}" for field in typed)]))
            answer, content = place.ask(who, "GET", route, asked)
            met += bool(MARK.search(content))
            wrong += [f"{route}?{typed[0][:20]}: {problem}" for problem in look(answer, content)]
    assert not wrong, "\n".join(wrong)
    assert met > 0 or room in ("notices", "administration"), "nothing that was typed came back"


@pytest.mark.parametrize("room", sorted({*ROOMS.values()} - {"explanations", "packages"}))
def test_what_is_typed_into_a_form_comes_back_as_a_text(place: Place, room: str) -> None:
    place.restore()
    wrong = []
    for route in [route for route, of in ROOMS.items() if of == room and route in CHANGES]:
        who = find_who(route, 1)
        for asked in CHANGES[route]:
            sound: Mapping[str, object] = asked.sends if isinstance(asked.sends, Mapping) else {}
            for field in sorted({*list_fields(room, "post"), *sound} - {"file"}):
                written = count_writes()
                sent = Ask(sends={**sound, field: TEXT}, to=asked.to)
                answer, content = place.ask(who, "POST", route, sent)
                wrong += [f"{route} {field}: {problem}" for problem in look(answer, content)]
                if answer.status_code == 302 and "Location" in answer:
                    # What was done, or why not, is told on the page that it leads to.
                    client = place.make_client(who)
                    client.cookies.update(answer.cookies)
                    page = client.get(answer["Location"])
                    wrong += [f"{route} {field}, then: {found}" for found in look(page, read_content(page))]
                if count_writes() != written:
                    place.restore()
    assert not wrong, "\n".join(wrong)
