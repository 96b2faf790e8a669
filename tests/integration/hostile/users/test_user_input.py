"""Whatever a user sends is answered within bounds of time and memory, and others notice nothing of it."""

from __future__ import annotations

import gzip
import json
import select
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from integration.hostile.users.served_users import (
    HEAD,
    MemoryWatch,
    ServedUser,
    await_quiet,
    list_family,
    measure_memory,
    pack_headers,
    serving_users,
)
from integration.service.api_users import describe_file, pack, store
from integration.service.brokers import skip_without_broker

#: How much more than before the coordinator and its processes may hold for a request that is refused.
MOST_GROWTH = 400 << 20
#: How long a refusal may take, and how long others may wait, on a machine that is busy.
REFUSED_S, OTHERS_S = 300.0, 100.0
#: How long the work for a client that left may go on.
ENDED_S = 120.0
PLAIN = HEAD.format(keys="replicates = 3")


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ServedUser]]:
    """A user who attacks and one who works, of a coordinator that is served."""
    skip_without_broker()
    with serving_users(tmp_path_factory.mktemp("served"), "mallory", "bob") as made:
        yield made


@pytest.fixture
def mallory(users: list[ServedUser]) -> ServedUser:
    return users[0]


@pytest.fixture
def bob(users: list[ServedUser]) -> ServedUser:
    return users[1]


def add(section: str) -> str:
    return HEAD.format(keys="") + section


def ask_design(keys: str, *sizes: int) -> str:
    factors = "".join(f"f{at} = {[f'l{level}' for level in range(size)]}\n" for at, size in enumerate(sizes))
    return HEAD.format(keys=keys) + '[[factor]]\npath = "f"\n[factors]\n' + factors


#: What is sent as the text of an experiment -> what the refusal says.
TEXTS = {
    "a key of many parts": (".".join(["a"] * 100_000) + " = 1", "more than 16 parts"),
    "a deep list": ("x = " + "[" * 50_000 + "]" * 50_000, "more than 32 deep"),
    "deep tables": ("x = " + "{a=" * 50_000 + "1" + "}" * 50_000, "more than 32 deep"),
    "a long number": ("x = " + "9" * 100_000, "a number has more"),
    "a long hexadecimal number": ("x = 0x" + "f" * 100_000, "a number has more"),
    "many sections": ("".join(f"[s{n}]\n" for n in range(100_000)), "more than 20\u202f000 keys"),
    "an infinite size": (add("[constraints]\nmin_memory = inf"), "a size is"),
    "an infinite time": (add("[limits]\nrun_timeout = inf"), "thirty years"),
    "no number": (add("[limits]\nrun_timeout = nan"), "is not a duration"),
    "a huge coverage": (add(f'[coverage]\nmachine = "{"9" * 1_000_000}%"'), "is not a coverage"),
    "a share that is tried again and again": (
        add(f'[replication]\nmax_trials = 9\nuntil = {{ half_width = "{"1" * 900_000}x" }}'),
        "is not a share",
    ),
    "a size that is tried again and again": (
        add(f'[constraints]\nmin_memory = "1{" " * 900_000}!"'),
        "is not a size",
    ),
    "headers that are tried again and again": (
        HEAD.format(keys='question = """\n' + ("[" + " " * 5000 + "\n") * 100 + '"""') + "[limits]\nfoo = 1",
        "unknown key",
    ),
    "a range without end": (
        add(f'[nuisance]\nenv_padding = {{ randomise = "0..{"9" * 50_000}" }}'),
        "is not a range",
    ),
    "a deep formula": (
        add(f'[responses.r]\nunit = "s"\ndirection = "lower"\nformula = "{"(" * 480}1{")" * 480}"'),
        "is not a formula",
    ),
    "a formula of a huge number": (
        add(f'[responses.r]\nunit = "s"\ndirection = "lower"\nformula = "{"9" * 900}"'),
        "is not a formula",
    ),
    "a pattern of many stars": (add(f'[constraints]\ncpu_model = "{"*a" * 400_000}"'), "200 characters"),
    "a huge unit": (
        add(f'[responses.r]\nunit = "{"s" * 900_000}"\ndirection = "lower"'),
        "unknown unit",
    ),
    "trials without end": (
        HEAD.format(keys="") + "[replication]\nbuilds = 100000\nexecutions = 100000\n",
        "a fleet takes 2\u202f000\u202f000",
    ),
    "many points": (ask_design("", 1200, 1700), "brings 1 factors"),
}  # fmt: skip


@pytest.mark.parametrize("attack", TEXTS)
def test_a_text_is_refused_in_a_sentence_within_bounds(mallory: ServedUser, attack: str) -> None:
    text, message = TEXTS[attack]
    answer = check_refused(mallory, lambda: mallory.plan(text))
    assert message in answer


@pytest.mark.parametrize(
    "attack", ["a key of many parts", "a deep list", "a long number", "an infinite size"]
)
def test_a_page_refuses_a_text_in_a_sentence_too(mallory: ServedUser, attack: str) -> None:
    text, message = TEXTS[attack]
    answer = mallory.post_form("/experiments/new/file", text=text)
    # The page shows the text with what is wrong with it.
    assert answer.status == 200
    assert message in answer.message.lower()
    assert answer.elapsed_s < REFUSED_S


def check_refused(user: ServedUser, send: Callable[[], object]) -> str:
    """Send what must be refused; return the sentence."""
    process = user.coordinator.process
    assert process is not None
    before = measure_memory(process.pid)
    with MemoryWatch(process.pid) as watch:
        answer = send()
    assert 400 <= answer.status < 500, answer.body[:2000]
    assert answer.message
    assert answer.elapsed_s < REFUSED_S
    assert watch.most - before < MOST_GROWTH
    return str(answer.message)


#: Bodies that are no submission.
BODIES = {
    "lists in lists": b'{"text": ' + b"[" * 1_000_000 + b"}",
    "whole lists in lists": b'{"text": ' + b"[" * 500_000 + b"]" * 500_000 + b', "packages": []}',
    "tables in tables": b'{"a":' * 500_000 + b"1" + b"}" * 500_000,
    "many values": b'{"text": "", "packages": [' + b"{}," * 1_000_000 + b"{}]}",
    "many names": b"{" + b",".join(b'"%d":[]' % n for n in range(300_000)) + b"}",
    "a huge number": b'{"text": "", "packages": [], "options": {"redundancy": ' + b"9" * 1_000_000 + b"}}",
    "no number": b'{"text": "", "packages": [], "options": {"redundancy": NaN}}',
    "half a character": b'{"text": "\\ud800", "packages": []}',
    "no text": b"\xff\xfe" * 100_000,
}


@pytest.mark.parametrize("attack", BODIES)
def test_a_body_is_refused_in_a_sentence_within_bounds(mallory: ServedUser, attack: str) -> None:
    check_refused(mallory, lambda: mallory.ask("POST", "/api/experiments/plan", BODIES[attack]))


SCRIPTS = {"run.sh": b"#!/bin/sh\n", "collect.sh": b"#!/bin/sh\n"}
#: Archives that are stored and named as a package -> what they are.
ARCHIVES: dict[str, Callable[[], bytes]] = {
    "a long name of 2 GiB": lambda: pack_headers((b"L", 2 << 30), size=2 << 30),
    "an extended header of 2 GiB": lambda: pack_headers((b"x", 2 << 30), size=2 << 30),
    "headers behind headers": lambda: pack_headers((b"L", 512), repeat=20_000),
    "more files than are taken": lambda: pack_headers((b"0", 0), repeat=210_000),
    "a file of 8 GiB of nothing": lambda: pack_headers((b"0", (8 << 30) - 1), size=4 << 20),
    "damaged data": lambda: gzip.compress(b"x" * 5000)[:-30] + b"\xff" * 40,
    "half an archive": lambda: pack(SCRIPTS)[:60],
    "a number that is none": lambda: gzip.compress(
        b"x".ljust(124, b"\0") + b"zzzzzzzzzzz\0".ljust(388, b"\0")
    ),
}


@pytest.mark.parametrize("attack", ARCHIVES)
def test_an_archive_is_refused_in_a_sentence_within_bounds(mallory: ServedUser, attack: str) -> None:
    content = ARCHIVES[attack]()
    package = describe_file("p1", store(content, mallory.user), len(content))
    body = mallory.write(PLAIN, packages=[package])
    check_refused(mallory, lambda: mallory.ask("POST", "/api/experiments", body))


def test_a_factor_that_says_too_much_is_refused(mallory: ServedUser) -> None:
    content = pack({"factor.toml": b".".join([b"a"] * 30_000) + b" = 1"})
    factor = describe_file("f", store(content, mallory.user, "f", "factor"), len(content), kind="factor")
    body = mallory.write(ask_design("", 2).replace("f0", "f"), packages=[mallory.package, factor])
    assert "16 parts" in check_refused(mallory, lambda: mallory.ask("POST", "/api/experiments", body))


#: What may be asked and takes long: keys of the design, levels of its factors.
LONG = {
    "a large D-optimal design": ('design = "d-optimal"\nmax_points = 3000', [3] * 12),
    "a large covering array": ('design = "covering"', [800, 800, 80]),
}


def write_long(user: ServedUser, name: str) -> bytes:
    keys, sizes = LONG[name]
    factor_files = []
    lines = ""
    for at in range(len(sizes)):
        content = make_factor(f"f{at}")
        digest = store(content, user.user, f"f{at}", "factor")
        factor_files.append(describe_file(f"f{at}", digest, len(content), kind="factor"))
        lines += f'[[factor]]\npath = "f{at}"\n'
    text = ask_design(keys, *sizes).replace('[[factor]]\npath = "f"\n', lines)
    return user.write(text, packages=[user.package, *factor_files])


def make_factor(name: str) -> bytes:
    verbs = dict.fromkeys(("levels", "set", "verify", "restore"), b"#!/bin/sh\n")
    about = f'name = "{name}"\nsummary = "s"\nscope = "environment"\n'
    return pack({"factor.toml": about.encode(), **verbs})


@pytest.mark.parametrize("name", LONG)
def test_work_ends_when_its_client_leaves(mallory: ServedUser, name: str) -> None:
    process = mallory.coordinator.process
    assert process is not None
    quiet = set(list_family(process.pid))
    before = measure_memory(process.pid)
    body = write_long(mallory, name)
    leaving = [
        threading.Thread(target=mallory.abandon, args=("/api/experiments/plan", body, 1.5)) for _ in range(3)
    ]
    for thread in leaving:
        thread.start()
    for thread in leaving:
        thread.join()
    ends_s = time.monotonic() + ENDED_S
    while set(list_family(process.pid)) - quiet and time.monotonic() < ends_s:
        time.sleep(0.1)
    assert not set(list_family(process.pid)) - quiet
    assert await_quiet(process.pid, before + (60 << 20), ENDED_S) <= before + (60 << 20)


def test_others_are_served_while_one_asks_too_much(mallory: ServedUser, bob: ServedUser) -> None:
    body = write_long(mallory, "a large D-optimal design")
    # They are asked for until the others are served: behind all of them one would wait for many minutes.
    sent = [mallory.begin("/api/experiments/plan", body) for _ in range(8)]
    # Those beyond the share are answered at once: all have come.
    select.select([connection.sock for connection in sent], [], [], OTHERS_S)
    times = [bob.plan(PLAIN).elapsed_s for _ in range(5)]
    times += [bob.ask("GET", "/login").elapsed_s for _ in range(5)]
    refused = mallory.plan(PLAIN), mallory.plan(PLAIN)
    for connection in sent:
        connection.close()
    assert max(times) < OTHERS_S
    for answer in refused:
        # Either it had its turn, or it is told to come again.
        assert answer.status in (200, 429)


def test_who_asks_for_more_than_their_share_is_told_when_to_come_again(mallory: ServedUser) -> None:
    body = write_long(mallory, "a large D-optimal design")
    sent = [mallory.begin("/api/experiments/plan", body) for _ in range(12)]
    # Those beyond the share are answered at once, the others only after their long search.
    answered, _, _ = select.select([connection.sock for connection in sent], [], [], ENDED_S)
    first = next(connection for connection in sent if connection.sock in answered).getresponse()
    message = json.loads(first.read())["message"]
    for connection in sent:
        connection.close()
    assert first.status == 429
    assert "of your requests are being worked on" in message
    assert int(first.headers["Retry-After"]) > 0


def test_an_ordinary_plan_is_quick_and_right(bob: ServedUser) -> None:
    answer = bob.plan(PLAIN)
    assert answer.status == 200, answer.body
    assert json.loads(answer.body)["trials"] == 3
    assert answer.elapsed_s < OTHERS_S


def test_two_million_trials_are_previewed_at_once(bob: ServedUser) -> None:
    answer = bob.plan(HEAD.format(keys="replicates = 1000000") + "[coverage]\nmachine = 2\n")
    assert json.loads(answer.body)["trials"] == 2_000_000
    assert answer.elapsed_s < OTHERS_S


def test_an_experiment_is_entered_with_all_its_trials(bob: ServedUser) -> None:
    answer = bob.ask("POST", "/api/experiments", bob.write(HEAD.format(keys="replicates = 5000")))
    assert answer.status == 200, answer.body
    number = json.loads(answer.body)["id"]
    shown = json.loads(bob.ask("GET", f"/api/experiments/{number}").body)
    assert sum(shown["trials"].values()) == 5000
    assert bob.ask("POST", f"/api/experiments/{number}/cancel").status == 200


def test_others_submit_while_a_large_experiment_is_entered(mallory: ServedUser, bob: ServedUser) -> None:
    body = mallory.write(HEAD.format(keys="replicates = 200000"))
    # To enter it takes many times as long as what the others submit.
    connection = mallory.begin("/api/experiments", body)
    ends_s = time.monotonic() + 600
    while not list_entering(mallory) and time.monotonic() < ends_s:
        time.sleep(0.2)
    (entering,) = list_entering(mallory)
    answers = [bob.ask("POST", "/api/experiments", bob.write(PLAIN)) for _ in range(3)]
    assert [answer.status for answer in answers] == [200] * 3
    assert max(answer.elapsed_s for answer in answers) < OTHERS_S
    connection.close()
    ends_s = time.monotonic() + ENDED_S
    while list_entering(mallory) and time.monotonic() < ends_s:
        time.sleep(0.1)
    shown = json.loads(mallory.ask("GET", f"/api/experiments/{entering}").body)
    assert (shown["state"], shown["state_reason"]) == ("cancelled", "its trials could not be entered")
    # The request that wrote the file drops it after the experiment is cancelled, not together with it.
    plans = mallory.coordinator.data / "plans"
    while list(plans.iterdir()) and time.monotonic() < ends_s:
        time.sleep(0.1)
    assert list(plans.iterdir()) == []


def list_entering(user: ServedUser) -> list[int]:
    """Numbers of a user's experiments whose trials are being entered."""
    listed = json.loads(user.ask("GET", "/api/experiments?mine=true").body)
    return [item["id"] for item in listed if item["state_reason"] == "its trials are being entered"]


def test_the_coordinator_is_well_after_all(users: list[ServedUser]) -> None:
    coordinator = users[0].coordinator
    assert coordinator.is_well(), coordinator.log()
    assert "Traceback" not in coordinator.log()
