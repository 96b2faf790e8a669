"""Notices: made of events, signed, sent, tried again, given up; and the page and the feed that show them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import User
from django.test import Client
from integration.service.api_users import ApiUser
from integration.service.small_fleet import Fleet

from datamill.service.coordinator.experiments.experiments import cancel_experiment
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
from datamill.service.models import FleetWorker, Notice, NoticeTarget
from datamill.service.notices.mail import parse_mail_server
from datamill.service.notices.rounds import MOST_FAILURES, RETRIES_S, make_round
from datamill.service.notices.ways import NoticeWays, set_notice_ways

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")

NOW_S = 2_000_000_000.0


class Hook(BaseHTTPRequestHandler):
    """A webhook that keeps what it got."""

    got: ClassVar[list[tuple[dict[str, str], bytes]]] = []
    status: ClassVar[int] = 204

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Hook.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(Hook.status)
        if Hook.status == 302:
            self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Mailbox(socketserver.StreamRequestHandler):
    """A mail server that takes everything."""

    got: ClassVar[list[str]] = []

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        text, within = "", False
        while line := self.rfile.readline().decode():
            if within:
                within = line != ".\r\n"
                text += line if within else ""
                if not within:
                    Mailbox.got.append(text)
                    self.wfile.write(b"250 taken\r\n")
            elif line.upper().startswith("DATA"):
                text, within = "", True
                self.wfile.write(b"354 go on\r\n")
            elif line.upper().startswith("QUIT"):
                self.wfile.write(b"221 bye\r\n")
                return
            else:
                self.wfile.write(b"250 fine\r\n")


@pytest.fixture
def places() -> Iterator[tuple[str, int]]:
    """A webhook's address and a mail server's port, on this machine, which the operator allows."""
    Hook.got, Hook.status, Mailbox.got = [], 204, []
    hook = HTTPServer(("127.0.0.1", 0), Hook)
    mail = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mailbox)
    for server in (hook, mail):
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    sender = parse_mail_server(f"smtp+plain://127.0.0.1:{mail.server_address[1]}", "lab@example.org")
    set_notice_ways(NoticeWays("https://lab.example.org", sender, frozenset({"127.0.0.1"})))
    yield f"http://127.0.0.1:{hook.server_address[1]}/hook", mail.server_address[1]
    set_notice_ways(NoticeWays())
    for server in (hook, mail):
        server.shutdown()
        server.server_close()


def log_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def add_hook(client: Client, url: str) -> str:
    page = client.post("/notices/add", {"kind": "webhook", "address": url}).content.decode()
    found = re.search(r"data-secret>([^<]+)<", page)
    assert found, page
    return found[1]


def test_a_webhook_is_told_once_and_can_check_who_speaks(places: tuple[str, int]) -> None:
    fleet, bob = Fleet(), ApiUser("bob")
    secret = add_hook(log_in(fleet.ada.user), places[0])
    add_hook(log_in(bob.user), places[0])
    make_round(NOW_S)
    cancel_experiment(fleet.number, fleet.ada.user, NOW_S)
    assert make_round(NOW_S) == 1
    assert make_round(NOW_S) == 0
    ((headers, body),) = Hook.got
    told = json.loads(body)
    assert (told["type"], told["data"]["name"]) == ("experiment.cancelled", "two-loops")
    assert told["data"]["url"] == f"https://lab.example.org/experiments/{fleet.number}"
    # As Standard Webhooks 1.0 states it.
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{mac}"
    page = log_in(fleet.ada.user).get("/notices").content.decode()
    assert "the last arrived" in page
    assert secret not in page


@pytest.mark.parametrize("status", [500, 302])
def test_what_is_not_taken_is_tried_again_and_given_up(places: tuple[str, int], status: int) -> None:
    ada = ApiUser("ada")
    add_hook(log_in(ada.user), places[0])
    target = NoticeTarget.objects.get()
    Hook.status, now_s = status, NOW_S
    log_in(ada.user).post(f"/notices/{target.pk}/try")
    Notice.objects.update(next_unix_s=now_s)
    for wait_s in RETRIES_S:
        assert make_round(now_s) == 0
        assert make_round(now_s + wait_s - 1) == 0
        now_s += wait_s
    assert Notice.objects.count() == 1
    make_round(now_s)
    assert len(Hook.got) == len(RETRIES_S) + 1
    assert Notice.objects.count() == 0
    assert f"status {status}" in log_in(ada.user).get("/notices").content.decode()


def test_an_address_that_takes_nothing_is_left_alone_until_its_user_says_so(places: tuple[str, int]) -> None:
    fleet = Fleet()
    client = log_in(fleet.ada.user)
    add_hook(client, places[0])
    make_round(NOW_S)
    Hook.status = 410
    NoticeTarget.objects.update(failures=MOST_FAILURES - 1)
    cancel_experiment(fleet.number, fleet.ada.user, NOW_S)
    for later_s in (0.0, 1e6):
        make_round(NOW_S + later_s)
    assert len(Hook.got) == 1
    assert "given up" in client.get("/notices").content.decode()
    Hook.status = 200
    client.post(f"/notices/{NoticeTarget.objects.get().pk}/resume")
    Notice.objects.update(next_unix_s=NOW_S)
    assert make_round(NOW_S) == 1


def test_a_mail_address_is_confirmed_before_anything_is_sent(places: tuple[str, int]) -> None:
    assert places
    fleet = Fleet()
    client = log_in(fleet.ada.user)
    make_round(NOW_S)
    added = client.post("/notices/add", {"kind": "mail", "address": "ada@example.org"})
    assert added.status_code == 302
    code = re.search(r"page of notices: (\w+)", Mailbox.got[0])
    assert code
    cancel_experiment(fleet.number, fleet.ada.user, NOW_S)
    assert make_round(NOW_S) == 0
    number = NoticeTarget.objects.get().pk
    assert (
        log_in(ApiUser("bob").user).post(f"/notices/{number}/confirm", {"code": code[1]}).status_code == 404
    )
    assert client.post(f"/notices/{number}/confirm", {"code": code[1]}).status_code == 302
    worker = FleetWorker.objects.get(name="fast")
    add_events([NewEvent(EventKind.SILENT, worker_id=worker.pk, detail="It missed its deadline.")], NOW_S)
    FleetWorker.objects.update(owner=fleet.ada.user)
    assert make_round(NOW_S) == 1
    assert "Subject: datamill: worker silent: fast" in Mailbox.got[1]
    assert "https://lab.example.org/workers/fast" in Mailbox.got[1]


def test_a_wrong_code_removes_the_address(places: tuple[str, int]) -> None:
    assert places
    client = log_in(ApiUser("ada").user)
    client.post("/notices/add", {"kind": "mail", "address": "somebody@example.org"})
    number = NoticeTarget.objects.get().pk
    assert client.post(f"/notices/{number}/confirm", {"code": "0"}).status_code == 400
    assert not NoticeTarget.objects.exists()


def test_a_feed_is_read_by_its_key_alone() -> None:
    fleet = Fleet()
    client = log_in(fleet.ada.user)
    cancel_experiment(fleet.number, fleet.ada.user, NOW_S)
    page = client.post("/notices/add", {"kind": "feed"}).content.decode()
    found = re.search(r"data-feed>http://testserver(/notices.atom\?key=[^<]+)<", page)
    assert found
    root = ElementTree.fromstring(Client().get(found[1]).content)
    titles = [entry.text for entry in root.iter("{http://www.w3.org/2005/Atom}title")]
    assert "experiment cancelled: two-loops" in titles
    client.post("/notices/add", {"kind": "feed"})
    assert Client().get(found[1]).status_code == 404
    assert Client().get("/notices.atom").status_code == 404


@pytest.mark.parametrize(
    "address",
    [
        "http://example.org/", "https://127.0.0.1/", "https://localhost/", "https://[::1]/", "https://10.0.0.8/x",
        "https://169.254.169.254/latest", "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/",
        "https://0x7f.1/", "https://2130706433/", "https://user:word@example.org/", "https://example.org:22/",
        "ftp://example.org/", "https://example.org/\r\nHost: x", "", "https://" + "a" * 600,
        "https://[2002:7f00:1::]/", "https://0.0.0.0/", "https://224.0.0.1/",
    ],
)  # fmt: skip
def test_no_notice_goes_where_the_coordinator_alone_can_reach(address: str) -> None:
    client = log_in(ApiUser("ada").user)
    answer = client.post("/notices/add", {"kind": "webhook", "address": address})
    assert answer.status_code == 400, answer.content.decode()
    assert not NoticeTarget.objects.exists()


def test_a_name_that_leads_inside_later_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    from datamill.service.notices import addresses

    ada, where = ApiUser("ada"), ["93.184.215.14"]

    def look_up(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        assert host == "hook.example.org"
        return [(2, 1, 6, "", (where[0], port))]

    monkeypatch.setattr(addresses.socket, "getaddrinfo", look_up)
    client = log_in(ada.user)
    add_hook(client, "https://hook.example.org/")
    where[0] = "192.168.1.1"
    client.post(f"/notices/{NoticeTarget.objects.get().pk}/try")
    Notice.objects.update(next_unix_s=NOW_S)
    assert make_round(NOW_S) == 0
    assert "not on the public network" in NoticeTarget.objects.get().trouble
