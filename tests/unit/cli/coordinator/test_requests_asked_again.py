"""What must not be done twice is asked again with the key of the first time, until it is answered."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from datamill.cli.coordinator import coordinator_client
from datamill.cli.coordinator.coordinator_client import CoordinatorClient, UnreachableError
from datamill.cli.coordinator.unanswered import MOST_AGE_S, asking_once, name_folder
from datamill.client_settings import ClientSettings
from datamill.experiment.errors import InputError
from datamill.protocol.api.submissions import SubmissionRequest

SETTINGS = ClientSettings("https://lab", "key", None)
OTHER = ClientSettings("https://lab", "another's key", None)


class Made(msgspec.Struct, frozen=True):
    id: int


class Wire:
    """A coordinator whose answers come as they are listed: a number is a status, an error breaks the line."""

    def __init__(self, *answers: int | Exception) -> None:
        self.answers: Iterator[int | Exception] = iter(answers)
        self.sent: list[tuple[str, bytes]] = []

    def ask(self, body: SubmissionRequest, settings: ClientSettings = SETTINGS) -> int:
        client = CoordinatorClient(settings)
        client._client = httpx.Client(base_url="https://lab", transport=httpx.MockTransport(self.answer))
        return client.post_once("/experiments", Made, body, msgspec.structs.replace(body, plan="")).id

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.sent.append((request.headers["Idempotency-Key"], request.content))
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        headers = {"Retry-After": "1"} if answer == 409 else {}
        content = {"id": 7} if answer == 200 else {"message": "no", "where": "", "remedy": ""}
        return httpx.Response(answer, json=content, headers=headers)


BROKEN = httpx.RemoteProtocolError("Server disconnected")
BODY = SubmissionRequest("text", (), plan="1" * 64)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr(coordinator_client.time, "sleep", slept.append)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return slept


def list_files() -> list[Path]:
    return sorted(name_folder().glob("*"))


def test_a_connection_that_breaks_is_asked_again_with_the_same_key(pauses: list[float]) -> None:
    wire = Wire(BROKEN, httpx.ConnectError("refused"), 409, 200)
    assert wire.ask(BODY) == 7
    assert len(set(wire.sent)) == 1, "each time the same key and the same bytes"
    assert (pauses, list_files()) == ([1.0, 2.0, 1.0], [])


def test_the_command_typed_again_asks_what_became_of_the_first_one() -> None:
    wire = Wire(*[BROKEN] * 4, 502, 200, 200)
    with pytest.raises(UnreachableError) as caught:
        wire.ask(BODY)
    assert "not done twice" in caught.value.remedy
    (file,) = list_files()
    assert file.stat().st_mode & 0o777 == 0o600
    # Its plan is another one by now: what is sent is what was confirmed the first time.
    later = msgspec.structs.replace(BODY, plan="2" * 64)
    with pytest.raises(InputError, match="no"):
        wire.ask(later)
    assert wire.ask(later) == 7
    assert len(set(wire.sent)) == 1
    assert list_files() == []
    assert wire.ask(later) == 7
    assert wire.sent[-1][0] != wire.sent[0][0], "it was answered, so this is another wish"


def test_only_the_same_wish_of_the_same_user_has_the_same_key() -> None:
    wire = Wire(*[BROKEN] * 4, 200, 200, 400)
    with pytest.raises(UnreachableError):
        wire.ask(BODY)
    wire.ask(msgspec.structs.replace(BODY, text="other"))
    wire.ask(BODY, OTHER)
    assert len({key for key, _ in wire.sent}) == 3
    # A refusal is an answer: what it refused was not done.
    with pytest.raises(InputError, match="no"):
        wire.ask(BODY)
    assert list_files() == []


def test_a_coordinator_that_is_not_there_is_not_waited_for(pauses: list[float]) -> None:
    with pytest.raises(UnreachableError, match="cannot be reached"):
        Wire(httpx.ConnectError("refused")).ask(BODY)
    assert pauses == []


def test_keys_are_not_shared_with_a_command_that_asks_now_nor_kept_for_long() -> None:
    with (
        asking_once(SETTINGS, "/experiments", b"{}", b"{}") as first,
        asking_once(SETTINGS, "/experiments", b"{}", b"{}") as second,
    ):
        assert first.request.key != second.request.key
    (file,) = list_files()
    old_s = file.stat().st_mtime - MOST_AGE_S - 1
    os.utime(file, (old_s, old_s))
    with asking_once(SETTINGS, "/experiments", b"{}", b"{}") as third:
        assert third.request.key != first.request.key


def test_without_room_for_a_file_a_request_is_asked_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert Wire(200).ask(BODY) == 7
