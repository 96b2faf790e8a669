"""The objects behind the addresses: Ada's experiments, Carol's machines, what each of them brought."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import nkeys
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from integration.hostile.users.place import ARCHIVE, Place, forget_guesses
from integration.service.api_users import (
    TEXT,
    ApiUser,
    describe_file,
    make_package,
    make_submission,
    pack,
    store,
)
from integration.service.brokers import make_keys
from integration.service.databases import MEMORY_URL, put_tables, use_database
from integration.service.fleets import (
    START_S,
    join,
    list_leases,
    make_inventory,
    make_phase,
    make_record,
    say,
    tell_record,
)

from datamill.protocol.api.accounts import SCOPES
from datamill.protocol.fleet import ArtifactFile, CredentialRequest, EnrolmentRequest, Lease, Policy
from datamill.results.crates.description import Author, Description
from datamill.service.accounts import make_api_key
from datamill.service.administration import backups
from datamill.service.answers import analyses, answering
from datamill.service.answers.elsewhere import predictions
from datamill.service.broker.access import BrokerAccess, set_broker_access
from datamill.service.broker.keys import make_seed, public_key, sign
from datamill.service.coordinator.experiments.experiments import hold_experiment
from datamill.service.coordinator.joining.enrolment import EnrolledWorker, make_token
from datamill.service.coordinator.presence.members import drain_worker
from datamill.service.coordinator.registry.rules import forbid_factor
from datamill.service.coordinator.step import step
from datamill.service.files.disk import name_stored_file
from datamill.service.files.store import keep_file, record_stored_file
from datamill.service.kept_secrets import hash_secret
from datamill.service.models import FleetExperiment, FleetWorker, NoticeTarget, Publication, Quarantine
from datamill.service.notices.targets import add_feed
from datamill.service.notices.webhooks import make_secret
from datamill.service.publishing import archives, making
from datamill.service.publishing.reproductions import enter_rerun
from datamill.service.publishing.statements import MadeArchive, PublishedStatement
from datamill.service.watching import feed

#: Ada has experiments, Carol machines, Bob nothing; the last one is an administrator.
PEOPLE = ("ada", "bob", "carol", "root")
_PRINTED = b"what run.sh printed\n"
_CODE = "0123456789"
_STATEMENT = PublishedStatement("e", "", "It is.", (), (), (), 1, "", 1, (), "", (), (), picture_svg="<svg/>")
_VERBS = dict.fromkeys(("levels", "set", "verify", "restore"), b"#!/bin/sh\necho 1\n")
#: What members submit themselves: nobody is shown that it is like Ada's.
_MEMBERS_TEXT = (
    TEXT.replace("two-loops", "three-loops")
    .replace("Which is faster?", "What else?")
    .replace('"p1"', '"q1"')
    .replace('"p2"', '"q2"')
)


@contextmanager
def building_place(folder: Path, *, plays_archives: bool = True) -> Iterator[Place]:
    """Build the coordinator in memory, with its files in a folder, until the block ends.

    What takes seconds to infer is played, since rights are asked before; archives only if that is said.
    """
    use_database(MEMORY_URL)
    for kept in (answering._kept, analyses._kept, analyses._pages, predictions._times):
        kept.clear()
    archives._checked.clear()
    set_broker_access(BrokerAccess(make_keys(), ("nats://{host}:4222",)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "DATA_FOLDER", folder / "data")
        patch.setattr(settings, "PASSWORD_HASHERS", ["django.contrib.auth.hashers.MD5PasswordHasher"])
        # A database in memory is not copied: a backup is of this one.
        copied = folder / "copied.sqlite3"
        put_tables(copied)
        named = {"default": {"NAME": str(copied)}}
        patch.setattr(backups, "settings", SimpleNamespace(DATABASES=named, DATA_FOLDER=folder / "data"))
        patch.setattr(feed, "_POLL_S", 0.001)
        if plays_archives:
            patch.setattr(making, "make_archive", _play_archive)
        played = predictions.FleetPrediction(None, '{"answer": ["played"]}')  # type: ignore[arg-type]
        patch.setattr("datamill.service.api.answers.predictions.predict_elsewhere", lambda *_: played)
        place = _build(folder)
        place.restore()
        try:
            yield place
        finally:
            forget_guesses()
            set_broker_access(None)


def _build(folder: Path) -> Place:
    people = {name: ApiUser(name, admin=name == "root") for name in PEOPLE}
    ada, root = people["ada"].user, people["root"].user
    seed = make_seed(nkeys.PREFIX_BYTE_USER)
    worker = join("one", owner="carol")
    join("two", owner="carol")
    FleetWorker.objects.filter(pk=worker.worker_id).update(public_key=public_key(seed))
    drain_worker("two", people["carol"].user, START_S)
    submission = make_submission(ada)
    values = {"package": submission["packages"][0]["sha256"]}
    values["package_content"] = make_package("# p1\n").decode("latin-1")
    artifact = _bring_printed(worker, folder)
    values["ended"], values["trial"] = _run(people["ada"], submission, START_S, artifact)
    values["another"], _ = _run(people["ada"], submission, START_S + 50.0)
    values["running"] = str(people["ada"].post("/experiments", submission)[1]["id"])
    lease = _lease(START_S + 100.0)[worker.worker_id]
    values["held"] = str(people["ada"].post("/experiments", submission)[1]["id"])
    hold_experiment(FleetExperiment.objects.get(pk=values["held"]), "it waits for its owner", START_S)
    enter_rerun(int(values["held"]), int(values["ended"]), 0.05)
    values |= _bring_files(people, root)
    values |= _enter_targets(ada)
    values["publication"], values["archive_sha256"] = _publish(ada, int(values["ended"]))
    values |= _write_requests(ada, worker, seed)
    keys = {"a worker": worker.api_key}
    keys |= {
        f"{name} for {scope}": make_api_key(user.user, "narrow", scopes=(scope,))
        for name, user in people.items()
        for scope in SCOPES
    }
    sessions = {name: _log_in(user.user) for name, user in people.items()}
    return Place(values, sessions, keys, lease)


def _bring_printed(worker: EnrolledWorker, folder: Path) -> ArtifactFile:
    """Store what a trial printed, as its worker brings it."""
    part = folder / "printed"
    part.write_bytes(_PRINTED)
    digest = hashlib.sha256(_PRINTED).hexdigest()
    size = len(_PRINTED)
    keep_file(
        part,
        digest,
        lambda: record_stored_file(digest, "artifact", None, size, worker_id=worker.worker_id),
    )
    return ArtifactFile("run.stdout", digest, len(_PRINTED))


def _run(
    ada: ApiUser, submission: dict[str, Any], now_s: float, artifact: ArtifactFile | None = None
) -> tuple[str, str]:
    """Run an experiment to its end; return its number, and its first trial, which leaves the file."""
    number = ada.post("/experiments", submission)[1]["id"]
    trials: list[str] = []
    while leases := _lease(now_s):
        ((worker_id, lease),) = leases.items()
        trials.append(lease.spec.trial_id)
        record = make_record(lease, run=make_phase(wall_time_ns=1_000_000 + 1000 * len(trials)))
        artifacts = (artifact,) if artifact is not None and len(trials) == 1 else ()
        say(worker_id, tell_record(lease, record, artifacts), now_s)
        now_s += 1.0
    assert len(trials) == 4
    return str(number), trials[0]


def _lease(now_s: float) -> dict[str, Lease]:
    step(now_s)
    return list_leases(now_s)


def _bring_files(people: Mapping[str, ApiUser], root: User) -> dict[str, str]:
    """Enter a package in quarantine, factors, and packages that everybody brought."""
    barred = store(make_package("# p3\n"), people["ada"].user, "p3")
    Quarantine.objects.create(sha256=barred, reason="it took two machines down", since_unix_s=START_S)
    about = b'name = "swappiness"\nsummary = "how eagerly the kernel swaps"\nscope = "host"\n'
    factor = store(pack({"factor.toml": about, **_VERBS}), people["ada"].user, "swappiness", "factor")
    assert people["ada"].post("/factors", {"sha256": factor})[0] == 200
    forbid_factor("env_padding", "it is not wanted", root, START_S)
    files = []
    for name in ("q1", "q2"):
        content = make_package(f"# {name}\n")
        digests = {store(content, user.user, name) for user in people.values()}
        files.append(describe_file(name, digests.pop(), len(content)))
    submission = {"text": _MEMBERS_TEXT, "packages": files, "options": {}}
    return {
        "quarantined": barred,
        "factor": factor,
        "text": _MEMBERS_TEXT,
        "submission": json.dumps(submission),
        "archive": make_package("# q3\n").decode("latin-1"),
    }


def _enter_targets(ada: User) -> dict[str, str]:
    """Enter addresses for notices: a webhook, a mail address that is not confirmed, and a feed."""
    made = {
        kind: NoticeTarget.objects.create(
            user=ada,
            kind=kind,
            address=address,
            secret=secret,
            subjects="ended",
            made_unix_s=START_S,
            confirmed=kind == "webhook",
        )
        for kind, address, secret in (
            ("webhook", "https://hooks.example/x", make_secret()),
            ("mail", "ada@example.org", hash_secret(_CODE)),
        )
    }
    return {
        "webhook": str(made["webhook"].pk),
        "mail": str(made["mail"].pk),
        "code": _CODE,
        "feed": add_feed(ada, ("ended",), START_S),
    }


def _publish(user: User, number: int) -> tuple[str, str]:
    """Enter a publication of a user's, with its archive; return its key and the archive's digest."""
    sha256 = hashlib.sha256(ARCHIVE).hexdigest()
    name_stored_file(sha256).parent.mkdir(parents=True, exist_ok=True)
    said = Description("A result", (Author("Ada"),), "MIT", 1.8e9)
    Publication.objects.create(
        key="0123456789ab",
        experiment_id=number,
        publisher=user,
        published_unix_s=1.8e9,
        sha256=sha256,
        size_bytes=len(ARCHIVE),
        description=msgspec.json.encode(said),
        words="A result",
        statement=msgspec.json.encode(_STATEMENT),
    )
    return "0123456789ab", sha256


def _play_archive(
    _folder: str, target: str, _described: Description, _held_back: tuple[str, ...]
) -> MadeArchive:
    Path(target).write_bytes(ARCHIVE)
    return MadeArchive(hashlib.sha256(ARCHIVE).hexdigest(), len(ARCHIVE), _STATEMENT)


def _write_requests(ada: User, worker: EnrolledWorker, seed: str) -> dict[str, str]:
    """Write what machines send: one that joins, and one that asks for a new credential."""
    enrolment = EnrolmentRequest(
        token=make_token(ada, time.time(), 3600.0),
        name="three",
        public_key=public_key(make_seed(nkeys.PREFIX_BYTE_USER)),
        inventory=make_inventory("three"),
        policy=Policy(),
    )
    signature = sign(seed, f"datamill-credential {worker.worker_id} once".encode()).hex()
    credential = CredentialRequest(worker.worker_id, "once", signature)
    return {
        "enrolment": msgspec.json.encode(enrolment).decode(),
        "credential": msgspec.json.encode(credential).decode(),
    }


def _log_in(user: User) -> str:
    """Return the session of somebody who is logged in."""
    client = Client()
    client.force_login(user)
    return str(client.cookies[settings.SESSION_COOKIE_NAME].value)
