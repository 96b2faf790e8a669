"""A server that plays GitHub, GitLab and Forgejo, as far as comments on pull requests go."""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MARK = "<!-- datamill gate -->"
TOKEN, READER = "token-that-writes-83152", "token-that-reads-83152"
OWN, STRANGER = "github-actions[bot]", "stranger"


class Platform(ThreadingHTTPServer):
    """Plays the part of the three APIs that post-comment uses; anybody's comments are kept."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Api)
        self.comments: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def add(self, author: str, body: str) -> None:
        person = {"login": author, "username": author}
        self.comments.append(
            {"id": 1000 + len(self.comments), "body": body, "user": person, "author": person}
        )

    @property
    def own(self) -> list[str]:
        return [item["body"] for item in self.comments if item["user"]["login"] == OWN]


class Api(BaseHTTPRequestHandler):
    server: Platform

    def _answer(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        value = json.loads(self.rfile.read(size)) if size else {}
        token = self.headers.get("PRIVATE-TOKEN") or self.headers.get("Authorization", "").split(" ")[-1]
        path, _, query = self.path.partition("?")
        self.server.asked.append((self.command, path))
        if path.startswith("/moved"):
            self._send(302, {}, Location=f"{self.server.address}{path.removeprefix('/moved')}")
        elif path == "/user":
            # A token of GitHub's jobs may not ask who it is.
            gitlab = "PRIVATE-TOKEN" in self.headers
            self._send(*((200, {"username": OWN}) if gitlab else (403, {})))
        elif token not in (TOKEN, READER):
            self._send(401, {})
        elif self.command == "GET":
            page = int(re.search(r"\bpage=(\d+)", query)[1])
            self._send(200, self.server.comments[100 * (page - 1) : 100 * page])
        elif token == READER:
            self._send(403, {"message": "Resource not accessible by integration"})
        elif self.command == "POST":
            self.server.add(OWN, value["body"])
            self._send(201, {})
        else:
            number = int(path.rpartition("/")[2])
            next(item for item in self.server.comments if item["id"] == number)["body"] = value["body"]
            self._send(200, {})

    do_GET = do_POST = do_PATCH = do_PUT = _answer  # noqa: N815 - as the class above calls them

    def _send(self, status: int, value: object, **headers: str) -> None:
        text = json.dumps(value).encode()
        self.send_response(status)
        for name, content in {**headers, "Content-Length": str(len(text))}.items():
            self.send_header(name, content)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Nothing."""
