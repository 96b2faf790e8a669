"""What a stranger may write instead of a request: refused or answered, and never a failure of ours."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.hostile.door.strangers import DoorCoordinator, ask, serving, speak

HOST = b"Host: 127.0.0.1\r\n"
END = b"Connection: close\r\n\r\n"


def get(path: bytes, *headers: bytes, method: bytes = b"GET") -> bytes:
    """A request whose end is clear."""
    return method + b" " + path + b" HTTP/1.1\r\n" + HOST + b"".join(h + b"\r\n" for h in headers) + END


def post(path: bytes, body: bytes, *headers: bytes) -> bytes:
    return get(path, *headers, b"Content-Length: %d" % len(body), method=b"POST") + body


FORM = b"Content-Type: application/x-www-form-urlencoded"
CHUNKED = b"Transfer-Encoding: chunked"
PARTS = b"Content-Type: multipart/form-data; boundary="
FILE = b"/files/" + b"a" * 64
#: Among the statuses: the connection may end without an answer, where more was said than is read.
CUT = {0}
#: Each is said over a connection of its own. The statuses are those that may be answered.
SAID: dict[str, tuple[bytes, set[int]]] = {
    "nothing like HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64 + b"\r\n\r\n", {400}),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 404}),
    "HTTP/0.9": (b"GET /login\r\n\r\n", {400}),
    "another version": (b"GET /login HTTP/9.9\r\n" + HOST + END, {200, 400, 505}),
    "no host": (b"GET /login HTTP/1.1\r\n" + END, {400}),
    "two hosts": (get(b"/login", b"Host: evil.example"), {400}),
    "a host that is none": (b"GET /login HTTP/1.1\r\nHost: a b/<>\r\n" + END, {400}),
    "a host of another": (b"GET /login HTTP/1.1\r\nHost: evil.example\r\n" + END, {200}),
    "a long line": (get(b"/" + b"a" * 100_000), CUT | {400, 404, 431}),
    "a long header": (get(b"/login", b"X: " + b"a" * 100_000), CUT | {200, 400, 431}),
    "many headers": (get(b"/login", *(b"X%d: 1" % n for n in range(5000))), CUT | {200, 400, 431}),
    "a line break in a header": (get(b"/login", b"X: a\r\n\x00: b"), {400}),
    "a NUL in a header": (get(b"/login", b"X: a\0b"), {400}),
    "a folded header": (get(b"/login", b"X: a\r\n  b"), {200, 400}),
    "letters beyond ASCII": (get(b"/login", b"X: \xff\xfe\x80", b"Cookie: \xff=\xfe"), {200}),
    "a NUL in the path": (get(b"/workers/%00"), {302, 400, 404}),
    "a NUL in the target": (get(b"/login\0"), {400}),
    "no UTF-8 in the path": (get(b"/%ff%fe%ed%a0%80/%c0%af"), {404}),
    "percent signs": (get(b"/%/%%/%zz/%1"), {404}),
    "no path": (get(b"login"), {200, 400, 404}),
    "a whole address": (get(b"http://evil.example/login"), {200, 400, 404}),
    "a star": (get(b"*", method=b"OPTIONS"), {400, 404, 405}),
    "a tunnel": (get(b"evil.example:443", method=b"CONNECT"), {400, 404, 405}),
    "an echo": (get(b"/login", method=b"TRACE"), {400, 403, 405}),
    "a method of no meaning": (get(b"/login", method=b"BREW"), {403, 405}),
    "a long method": (get(b"/login", method=b"A" * 10_000), {400, 403, 405, 431}),
    "up and out": (get(b"/static/../../settings.py"), {404}),
    "up and out of files": (get(b"/files/../../../etc/passwd"), {404}),
    "odd static": (get(b"/static/%00"), {404}),
    "static that is a folder": (get(b"/static/"), {404}),
    "NULs in the query": (get(b"/login?next=%00&%00=%00&a=%ed%a0%80"), {200}),
    "a long query": (get(b"/login?" + b"a&" * 7000), {200, 400}),
    "a bad session": (get(b"/experiments", rb'Cookie: sessionid="a\000aaaaaaaaaaa"'), {302}),
    "bad cookies": (get(b"/experiments", b'Cookie: ;;==;a;"=";csrftoken=\x01\x02;messages=\xff'), {302, 400}),
    "many cookies": (get(b"/login", b"Cookie: " + b"a=b;" * 3500), {200}),
    "a bad date": (get(b"/static/datamill/style.css", b"If-Modified-Since: yesterday; length=x"), {200}),
    "a bad language": (get(b"/login", b"Accept-Language: " + b"x-" * 4000), {200}),
    "a websocket": (get(b"/login", b"Upgrade: websocket", b"Sec-WebSocket-Key: x"), {200}),
    "another protocol": (get(b"/login", b"Upgrade: h2c", b"HTTP2-Settings: AAMA"), {200}),
    "a forged address": (get(b"/login", b"X-Forwarded-For: \xff, ::1", b"Forwarded: for=x"), {200}),
    "a token that is none": (post(b"/login", b"csrfmiddlewaretoken=%00&username=%00&password=", FORM), {403}),
    "many fields": (post(b"/login", b"a=1&" * 5000, FORM), {400, 403}),
    "parts without a boundary": (post(b"/login", b"--x\r\n\r\n", PARTS), {400, 403}),
    "parts with a long boundary": (post(b"/login", b"--x\r\n", PARTS + b"x" * 5000), {400, 403}),
    "parts in an odd alphabet": (post(b"/login", b"a=1", FORM + b"; charset=utf-7-x"), {400, 403}),
    "many ranges": (get(FILE, b"Range: bytes=" + b",".join(b"%d-" % n for n in range(2000))), {401}),
    "a key of odd letters": (get(FILE, b"Authorization: Bearer \xff\x80"), {401}),
    "two keys": (get(FILE, b"Authorization: Bearer a", b"Authorization: Bearer b"), {400}),
    "an upload without a key": (get(FILE, b"Content-Length: 99999999999999999999", method=b"PUT"), {401}),
    "a length that is none": (get(b"/login", b"Content-Length: -1", method=b"POST"), {400}),
    "two lengths": (get(b"/login", b"Content-Length: 1", b"Content-Length: 2", method=b"POST"), {400}),
    "a length in other digits": (get(b"/login", "Content-Length: ４".encode(), method=b"POST"), {400}),
    "a length beyond": (get(b"/login", b"Content-Length: 9" + b"9" * 30, method=b"POST"), {400, 413}),
    "length and chunks": (
        get(b"/login", b"Content-Length: 4", b"Transfer-Encoding: chunked", method=b"POST") + b"0\r\n\r\nGET",
        {400},
    ),
    "chunks twice": (get(b"/login", b"Transfer-Encoding: chunked, chunked", method=b"POST"), {400, 501}),
    "chunks of another kind": (get(b"/login", b"Transfer-Encoding: xchunked", method=b"POST"), {400, 501}),
    "a chunk that is none": (get(b"/login", CHUNKED, method=b"POST") + b"zz\r\n", {400}),
    "a chunk beyond": (get(b"/login", CHUNKED, method=b"POST") + b"f" * 21 + b"\r\n", {400}),
    "a bad chunk behind an answer": (
        b"PUT " + FILE + b" HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n\r\n1\r\na\r\nzz\r\n", {400, 401}
    ),
    "more than was announced": (post(b"/login", b"a=1", FORM) + b"trailing nonsense\r\n\r\n", {403}),
    "two requests at once": (get(b"/login").replace(END, b"\r\n") + get(b"/nowhere"), {200, 404}),
    "a promise of more": (post(b"/login", b"a=1", FORM, b"Expect: 100-continue"), {100, 403}),
    "another promise": (post(b"/login", b"a=1", FORM, b"Expect: 200-ok"), {403, 417}),
    "a body of a question": (get(b"/login", b"Content-Length: 3") + b"abc", {200}),
    "a squeezed body": (post(b"/login", b"\x1f\x8b\x08", FORM, b"Content-Encoding: gzip"), {400, 403}),
    "no JSON": (post(b"/api/workers/enrol", b"[" * 100_000, b"Content-Type: application/json"), {400}),
    "JSON of lone halves": (post(b"/api/workers/enrol", b'{"token": "\\ud800"}'), {400}),
}  # fmt: skip


@pytest.fixture(scope="module")
def coordinator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoorCoordinator]:
    with serving(tmp_path_factory.mktemp("malformed") / "data") as served:
        yield served


def read_statuses(answer: bytes) -> list[int]:
    return [int(number) for number in re.findall(rb"HTTP/1\.[01] (\d{3})", answer)]


def read_log(coordinator: DoorCoordinator) -> str:
    return Path(coordinator.log_file).read_text(errors="replace")


@pytest.mark.parametrize("name", SAID)
def test_what_is_no_request_is_refused_and_no_failure(coordinator: DoorCoordinator, name: str) -> None:
    said, may = SAID[name]
    statuses = read_statuses(speak(coordinator.port, said)) or [0]
    assert set(statuses) <= may, statuses
    told = read_log(coordinator)
    assert "Traceback" not in told, told[-3000:]
    assert " E " not in told, told[-3000:]


def test_requests_changed_by_chance_are_no_failure_either(coordinator: DoorCoordinator) -> None:
    chance = random.Random(7)
    whole = [said for said, _ in SAID.values() if len(said) < 2000]
    for _ in range(400):
        said = bytearray(chance.choice(whole))
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(said))
            piece = chance.choice(
                [b"\0", b"\r\n", b"\xff", b"%", b":", b" ", b"", bytes(said[place : place + 9])]
            )
            said[place : place + chance.randint(0, 3)] = piece
        # An ending for those that would wait for more.
        statuses = read_statuses(speak(coordinator.port, bytes(said) + b"\r\n\r\n\r\n", 0.3))
        assert all(status < 500 or status == 501 for status in statuses), (bytes(said), statuses)
    told = read_log(coordinator)
    assert "Traceback" not in told, told[-3000:]
    assert ask(coordinator.port)[0] == 200


def test_the_log_holds_no_secret_and_no_line_of_a_stranger(coordinator: DoorCoordinator) -> None:
    secrets = (b"dmk_topsecretkey", b"csrf-secret", b"session-secret")
    cookies = b"Cookie: sessionid=session-secret; csrftoken=csrf-secret"
    for path in (
        b"/nowhere%0a2026-01-01%20W%20forged?key=dmk_topsecretkey",
        b"/api/me?token=dmk_topsecretkey",
    ):
        speak(coordinator.port, get(path, b"Authorization: Bearer dmk_topsecretkey", cookies))
    speak(coordinator.port, post(b"/login", b"username=admin&password=dmk_topsecretkey", FORM, cookies))
    told = coordinator.log_file.read_bytes()
    assert not [secret for secret in secrets if secret in told]
    assert not re.search(rb"^2026-01-01 W forged", told, re.MULTILINE)
    assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", told)
