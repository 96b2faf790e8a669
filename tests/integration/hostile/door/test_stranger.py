"""A stranger with many connections before a real coordinator: others are served, and nothing grows."""

from __future__ import annotations

import os
import re
import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from integration.hostile.door.strangers import (
    PATIENCE_S,
    DoorCoordinator,
    ask,
    hear,
    holding,
    is_open,
    median_s,
    serving,
    speak,
    time_pages,
    wait_until,
)

MANY = 1100
HEAD = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
STYLE = b"GET /static/datamill/style.css" + HEAD + b"\r\n"
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
#: What is said over each connection, and on how many.
ATTACKS: dict[str, tuple[bytes, int]] = {
    "nothing is said": (b"", MANY),
    "half a line": (b"GET /log", MANY),
    "a header that never ends": (b"GET /login" + HEAD + b"X: ", MANY),
    "a body that never comes": (b"POST /login" + HEAD + FORM + b"Content-Length: 999\r\n\r\nu", MANY),
    "chunks that never end": (b"POST /login" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nu\r\n", MANY),
    "a body that waits to be asked for": (
        b"POST /login" + HEAD + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n", MANY
    ),
    "an upload without a key": (
        b"PUT /files/" + b"a" * 64 + HEAD + b"Content-Length: 999999\r\n\r\nu", MANY
    ),
    "nothing after an answer": (b"GET /ca.pem" + HEAD + b"\r\n", MANY),
    "answers that nobody reads": (STYLE * 60, 50),
    "answers of pages that nobody reads": ((b"GET /login" + HEAD + b"\r\n") * 60, 20),
    "a protocol that is not spoken": (b"GET /login" + HEAD + b"Upgrade: websocket\r\n", MANY),
}  # fmt: skip
MOST_LOG_BYTES = 100_000
MOST_MEMORY_MIB = 100.0


@pytest.fixture(scope="module")
def coordinator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoorCoordinator]:
    with serving(tmp_path_factory.mktemp("stranger") / "data") as served:
        time_pages(served.port, 5)
        yield served


def read_memory_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.parametrize("name", ATTACKS)
def test_others_are_served_while_a_stranger_holds_many_connections(
    coordinator: DoorCoordinator, name: str
) -> None:
    said, count = ATTACKS[name]
    log_before, memory_before = coordinator.log_file.stat().st_size, read_memory_mib(coordinator.pid)
    with holding(coordinator.port, count, said):
        took = time_pages(coordinator.port)
        assert coordinator.is_well()
        files = coordinator.count_files()
    assert median_s(took) < PATIENCE_S / 2, took
    assert max(took) < PATIENCE_S, took
    assert files < 4096 - 256
    # The stranger is gone: so is all that it cost.
    wait_until(lambda: coordinator.count_files() < 150, 120, "connections stay open")
    assert median_s(time_pages(coordinator.port, 5)) < PATIENCE_S / 2
    written = coordinator.log_file.read_bytes()[log_before:]
    assert len(written) < MOST_LOG_BYTES
    assert b"Traceback" not in written, written[-3000:].decode()
    assert read_memory_mib(coordinator.pid) - memory_before < MOST_MEMORY_MIB


def test_more_connections_than_there_are_open_files_shut_nobody_out(tmp_path: Path) -> None:
    served = DoorCoordinator(tmp_path / "data", files=(256, 1024))
    served.start()
    try:
        served.wait_until_well()
        with holding(served.port, 400, b"GET /login" + HEAD):
            # They come from one address, which has 192 connections for all who are there.
            assert [_answers(lambda: ask(served.port)) for _ in range(20)].count(True) >= 17
        assert served.is_well()
        wait_until(
            lambda: " W datamill.door: many connections: " in served.log_file.read_text(),
            PATIENCE_S,
            "the log does not say it",
        )
        told = served.log_file.read_text()
        assert "Traceback" not in told, told[-3000:]
        assert len(told) < MOST_LOG_BYTES
    finally:
        served.stop()


def test_requests_that_are_never_finished_are_ended_and_the_log_says_so(coordinator: DoorCoordinator) -> None:
    # With the bounds of earnest: ten seconds for a head.
    held = [socket.create_connection(("127.0.0.1", coordinator.port)) for _ in range(30)]
    for client in held:
        client.sendall(b"GET /login" + HEAD)
    wait_until(lambda: not any(is_open(client) for client in held), 120, "they are still open")
    told = coordinator.log_file.read_text()
    assert "a connection from 127.0.0.1 was ended: a request took too long" in told
    # What repeats is one line a minute.
    assert told.count("a request took too long") <= 3
    for client in held:
        client.close()


def test_half_a_handshake_shuts_nobody_out(tmp_path: Path) -> None:
    served = DoorCoordinator(tmp_path / "data", options=("--tls",))
    served.start()
    try:
        authority = served.data / "tls" / "ca.pem"
        wait_until(authority.exists, 60, "it does not start")
        context = ssl.create_default_context(cafile=str(authority))

        def ask_safely() -> bytes:
            with (
                socket.create_connection(("127.0.0.1", served.port), 30) as plain,
                context.wrap_socket(plain, server_hostname="localhost") as secure,
            ):
                secure.sendall(b"GET /login" + HEAD + b"Connection: close\r\n\r\n")
                return hear(secure, 30)

        wait_until(lambda: _answers(ask_safely), 60, "it does not answer")
        # Who speaks no TLS is answered with an end, and comes again.
        for said, count in (
            (b"", MANY),
            (b"\x16\x03\x01\x02\x00\x01", MANY),
            (b"GET / HTTP/1.1\r\n\r\n", 20),
        ):
            with holding(served.port, count, said):
                took = []
                for _ in range(5):
                    began_s = time.monotonic()
                    assert ask_safely().startswith(b"HTTP/1.1 200")
                    took.append(time.monotonic() - began_s)
                assert median_s(took) < PATIENCE_S / 2, took
        told = served.log_file.read_text()
        assert "Traceback" not in told, told[-3000:]
        assert len(told) < MOST_LOG_BYTES
    finally:
        served.stop()


def _answers(act: object) -> bool:
    try:
        return bool(act())  # type: ignore[operator]
    except OSError:
        return False


def test_where_a_request_came_from_is_not_believed_unless_a_proxy_was_named(
    coordinator: DoorCoordinator, tmp_path: Path
) -> None:
    def guess(port: int, number: int) -> bytes:
        return speak(
            port,
            b"GET /api/me" + HEAD + b"Connection: close\r\nAuthorization: Bearer x\r\n"
            b"X-Forwarded-For: 192.0.2.%d\r\n\r\n" % (number % 250),
        )

    told = [guess(coordinator.port, number)[9:12] for number in range(110)]
    assert told.count(b"429") == 10
    proxied = DoorCoordinator(tmp_path / "data", options=("--proxy", "127.0.0.1"))
    proxied.start()
    try:
        proxied.wait_until_well()
        told = [guess(proxied.port, number)[9:12] for number in range(110)]
        assert told.count(b"429") == 0
    finally:
        proxied.stop()
    assert ask(coordinator.port)[0] == 200


def test_bodies_of_strangers_fill_no_memory(coordinator: DoorCoordinator) -> None:
    large = b"Content-Length: 4000000\r\n\r\n" + b"x" * 60_000
    memory_before = read_memory_mib(coordinator.pid)
    void = b"Authorization: Bearer dmk_void\r\n"
    for path, headers, status in (
        (b"/login", FORM, b"413"),
        (b"/api/experiments", b"", b"401"),
        (b"/api/experiments", void, b"401"),
        (b"/api/workers/enrol", b"", b"413"),
        (b"/experiments/new/upload", FORM, b"403"),
    ):
        with socket.create_connection(("127.0.0.1", coordinator.port), 30) as client:
            # The answer comes before the body, whose end never does.
            client.sendall(b"POST " + path + HEAD + headers + large[:40])
            assert hear(client, 10)[9:12] == status, path
    # Of machines that join a mebibyte is taken, and not of many at a time.
    joining = b"POST /api/workers/enrol" + HEAD + b"Content-Length: 1000000\r\n\r\n" + b"x" * 999_990
    with holding(coordinator.port, 60, joining):
        told = speak(coordinator.port, b"POST /api/workers/enrol" + HEAD + b"Content-Length: 100000\r\n\r\n")
        assert told[9:12] == b"429"
        assert b"retry-after: 5" in told.lower()
        assert max(time_pages(coordinator.port, 5)) < PATIENCE_S
        assert read_memory_mib(coordinator.pid) - memory_before < MOST_MEMORY_MIB


def test_many_passwords_at_once_leave_pages_to_others_and_count_before_they_are_hashed(
    coordinator: DoorCoordinator,
) -> None:
    page = speak(coordinator.port, b"GET /login" + HEAD + b"Connection: close\r\n\r\n")
    cookie = re.search(rb"csrftoken=(\w+)", page)
    token = re.search(rb'csrfmiddlewaretoken" value="(\w+)"', page)
    assert cookie is not None
    assert token is not None

    def guess(number: int) -> bytes:
        name = ("admin", "admin%20", "%EF%BD%81dmin", "ADMIN")[number % 4].encode()
        body = b"csrfmiddlewaretoken=%s&username=%s&password=guess%d" % (token[1], name, number)
        head = b"Connection: close\r\nCookie: csrftoken=%s\r\n" % cookie[1]
        length = b"Content-Length: %d\r\n\r\n" % len(body)
        return speak(coordinator.port, b"POST /login" + HEAD + FORM + head + length + body, 60)

    with ThreadPoolExecutor(40) as pool:
        guesses = [pool.submit(guess, number) for number in range(40)]
        took = time_pages(coordinator.port, 8)
        told = [answer.result()[9:12] for answer in guesses]
    assert max(took) < PATIENCE_S, took
    assert told.count(b"200") <= 8
    assert told.count(b"429") + told.count(b"503") >= 32
