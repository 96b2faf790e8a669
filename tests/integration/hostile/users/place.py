"""A small coordinator with an object behind each address: asked by anybody, and put back as it was."""

from __future__ import annotations

import json
import re
import sqlite3
import warnings
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from integration.hostile.users.samples import Ask

from datamill.protocol.fleet import Lease
from datamill.service.files.disk import name_stored_file
from datamill.service.front_door.visitors import guesses

#: What stands for the archive of a publication.
ARCHIVE = b"an archive"


class Place:
    """A coordinator in this process; `values` are what addresses and requests are filled with.

    Args:
        values: by name.
        sessions: of the browsers of people, by their names.
        keys: for the API, by who has them.
        lease: that Carol's machine has of a trial of Ada's.
    """

    def __init__(
        self, values: Mapping[str, str], sessions: Mapping[str, str], keys: Mapping[str, str], lease: Lease
    ) -> None:
        self.values = values
        self.lease = lease
        self._sessions = sessions
        self._keys = keys
        self._tables = sqlite3.connect(":memory:")
        connection.connection.backup(self._tables)

    def restore(self) -> None:
        """Put everything back as it was."""
        self._tables.backup(connection.connection)
        name_stored_file(self.values["archive_sha256"]).write_bytes(ARCHIVE)
        forget_guesses()

    def make_client(self, who: str) -> Client:
        """Return the browser of a person, the program of who has a key, or a stranger's."""
        key = self._keys.get(who)
        client = Client(
            raise_request_exception=False, headers={"Authorization": f"Bearer {key}"} if key else None
        )
        if who in self._sessions:
            client.cookies[settings.SESSION_COOKIE_NAME] = self._sessions[who]
        return client

    def ask(self, who: str, method: str, route: str, asked: Ask) -> tuple[Any, str]:
        """Ask something of an address; return the answer and its content, a letter for each byte."""
        path = self.fill_route(route, asked.to)
        if asked.query:
            path += f"?{self.fill(asked.query)}"
        return self.send(who, method, path, self.fill(asked.sends))

    def send(self, who: str, method: str, path: str, sent: Any) -> tuple[Any, str]:
        """Send JSON to the API, or a form to a page; return the answer and its content."""
        client = self.make_client(who)
        forget_guesses()
        if method == "GET":
            answer = client.get(path)
        elif path.startswith("/api/"):
            body = sent if isinstance(sent, str) else json.dumps(sent)
            answer = client.post(path, body, content_type="application/json")
        else:
            answer = client.post(path, _make_form(sent))
        return answer, read_content(answer)

    def fill(self, told: Any) -> Any:
        """Return what is sent, with values in the places that name them."""
        if isinstance(told, Mapping):
            return {name: self.fill(value) for name, value in told.items()}
        if isinstance(told, list):
            return [self.fill(value) for value in told]
        if not isinstance(told, str):
            return told
        return re.sub(r"\{(\w+)\}", lambda found: self.values.get(found[1], found[0]), told)

    def fill_route(self, route: str, to: Mapping[str, str] | None = None) -> str:
        """Return an address with an object of the right kind in each place; `to` names others than usual."""

        def put(match: re.Match[str]) -> str:
            name = match[1].rpartition(":")[2]
            named = (to or {}).get(name) or _name_object(route, name)
            return quote(self.fill(named), safe="")

        return "/" + re.sub(r"<([^>]+)>", put, route)


def _make_form(sent: Mapping[str, Any]) -> dict[str, Any]:
    form = dict(sent)
    if "file" in form:
        form["file"] = SimpleUploadedFile("q3.tar.gz", form["file"].encode("latin-1"))
    return form


def read_content(answer: Any) -> str:
    """Return the content of an answer, a letter for each byte; what is streamed, whole."""
    with warnings.catch_warnings():
        # Without a server whatever is streamed has to be read as a whole.
        warnings.filterwarnings("ignore", "StreamingHttpResponse must consume asynchronous iterators")
        content = b"".join(answer) if answer.streaming else answer.content
    return content.decode("latin-1")


def _name_object(route: str, name: str) -> str:
    """Return what usually stands in a place of an address, by what the address is about."""
    if name == "number":
        # Of an attempt behind a trial, of a figure, of an address for notices, else of an experiment.
        if "trial_id" in route:
            return "1"
        return "0" if "figures" in route else "{webhook}" if "notices" in route else "{ended}"
    if name == "kind":
        return "json" if "figures" in route else "bib" if "citation" in route else "csv"
    if name == "name":
        names = {"files": "run.stdout", "factors": "aslr", "users": "bob"}
        return next((known for part, known in names.items() if part in route.split("/")), "one")
    if name == "change":
        return "try" if "notices" in route else "forbid" if "factors" in route else "drain"
    if name == "sha256":
        return "{quarantined}" if "quarantine" in route else "{package}"
    return {"experiment_id": "{ended}", "trial_id": "{trial}", "key": "{publication}"}[name]


def forget_guesses() -> None:
    """Let nobody be refused for what was tried before."""
    guesses.PASSWORDS.clear()
    guesses.SECRETS.clear()


def read_tables() -> dict[str, list[object]]:
    """Return every row of the database but sessions of browsers."""
    with connection.cursor() as cursor:
        names = set(connection.introspection.table_names()) - {"django_session"}
        tables = {}
        for name in sorted(names):
            cursor.execute(f'SELECT * FROM "{name}"')
            tables[name] = cursor.fetchall()
    return tables


def count_writes() -> int:
    """Return how many rows were written, changed or removed so far, also in what was taken back."""
    return int(connection.connection.total_changes)
