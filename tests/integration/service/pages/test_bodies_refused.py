"""Bodies that are refused before any page is asked: people see a page, programs a record."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from datamill.service.serving.body_limits import SMALL_BODY_BYTES, LimitedBodies

HOST = "http://mill.example"
FORM = "/experiments/new/file"
UPLOAD = "/experiments/new/upload"


def send(path: str, size: int, **headers: str) -> httpx.Response:
    """What a stranger gets who sends so many bytes."""

    async def fail(*asked: object) -> None:
        raise AssertionError(f"a page was asked: {asked}")

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(LimitedBodies(fail))
        spelt = {name.replace("_", "-"): value for name, value in headers.items()}
        async with httpx.AsyncClient(transport=transport, base_url=HOST) as client:
            return await client.post(path, content=b"x" * size, headers=spelt)

    return asyncio.run(ask())


def test_a_person_is_told_on_a_page_what_to_do_with_what_was_typed() -> None:
    answer = send(FORM, SMALL_BODY_BYTES + 1, accept="text/html,*/*;q=0.8")
    assert answer.status_code == 413
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-security-policy"] == "default-src 'none'"
    for words in (
        "more than 64.0 KiB",
        "Log in first: members may send 4.0 MiB.",
        "what you typed is still in",
    ):
        assert words in answer.text


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (FORM, {}),
        (FORM, {"accept": "text/html, */*", "hx_request": "true"}),
        ("/login", {"accept": "application/json"}),
    ],
    ids=["no wish", "a part of a page", "a program"],
)
def test_programs_and_parts_of_pages_get_a_record(path: str, headers: dict[str, str]) -> None:
    answer = send(path, SMALL_BODY_BYTES + 1, **headers)
    assert answer.status_code == 413
    assert answer.json()["message"] == "the request has more than 64.0 KiB"


def test_packages_sent_after_the_session_ended_lead_over_the_login_to_the_step() -> None:
    step = "/experiments/new?name=kept&question=Why%3F"
    answer = send(UPLOAD, 100, referer=f"{HOST}{step}", accept="text/html")
    assert answer.status_code == 303
    way = urlsplit(answer.headers["location"])
    assert (way.netloc, way.path, parse_qs(way.query)["next"]) == ("", "/login", [step])


@pytest.mark.parametrize(
    "referer", ["", "http://elsewhere.example/experiments/new", f"{HOST}//elsewhere/", "http://[x"]
)
def test_nobody_is_led_to_another_site(referer: str) -> None:
    assert send(UPLOAD, 100, referer=referer).status_code == 403
