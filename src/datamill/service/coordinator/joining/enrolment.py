"""How machines join: with a token that works once."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_fixed
from datamill.protocol.fleet import READ_FLEET_VERSIONS, EnrolmentRequest, Inventory
from datamill.protocol.trial import READ_VERSIONS
from datamill.service.coordinator.joining.hardware import check_numbers, digest_hardware, list_hardware_levels
from datamill.service.coordinator.registry.policy_names import check_policy_names
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events, clean_text
from datamill.service.kept_secrets import hash_secret
from datamill.service.models import EnrolmentToken, FleetWorker
from datamill.service.states import WorkerState

#: Difference of clocks that is told, in seconds.
CLOCK_OFF_S = 60.0
#: Longest name of a worker, with room for a number behind it.
_MOST_NAME = 56
#: Tokens of one user that are not used, and machines of one that are in the fleet.
MOST_TOKENS = 10_000
MOST_MACHINES = 10_000
#: Some thousand packages.
MOST_POLICY_BYTES = 256 << 10
_PUBLIC_KEY = re.compile(r"U[A-Z2-7]{55}")
_NEW_TOKEN = "Make a new one with: datamill worker token"


@dataclass(frozen=True, slots=True)
class EnrolledWorker:
    """A machine that joined: its identity, its name in the fleet, and its credential for files."""

    worker_id: str
    name: str
    api_key: str


def make_token(owner: User, now_s: float, life_s: float) -> str:
    """Return a new token that lets one machine join within `life_s` seconds, for its owner.

    Raises:
        InputError: when the owner has too many that are not used.
    """
    # Those of the last day as well: one may be good for a moment only.
    is_held = Q(expires_unix_s__gt=now_s) | Q(made_unix_s__gt=now_s - 86_400.0)
    if EnrolmentToken.objects.filter(is_held, owner=owner, used_unix_s=None).count() >= MOST_TOKENS:
        raise InputError(
            f"{MOST_TOKENS} of your tokens are not used yet", remedy="Use them, or come again tomorrow."
        )
    token = secrets.token_urlsafe(24)
    EnrolmentToken.objects.create(
        sha256=hash_secret(token), owner=owner, made_unix_s=now_s, expires_unix_s=now_s + life_s
    )
    return token


def is_token(secret: str) -> bool:
    """Tell whether this is an enrolment token, good or used up."""
    return EnrolmentToken.objects.filter(sha256=hash_secret(secret)).exists()


def check_versions(inventory: Inventory) -> None:
    """Refuse a worker whose messages or records this coordinator does not read.

    Raises:
        InputError: says which side is too old.
    """
    pairs = (
        ("messages", inventory.schema, READ_FLEET_VERSIONS),
        ("trial records", inventory.trial_schema, READ_VERSIONS),
    )
    for what, spoken, read in pairs:
        if spoken not in read:
            older = "worker" if spoken < min(read) else "coordinator"
            raise InputError(
                f"the worker speaks version {spoken} of the {what}, this coordinator "
                f"{', '.join(map(str, read))}",
                where=f"datamill-worker {clean_text(inventory.worker_version, 40)}",
                remedy=f"Install a newer {older}: both come with datamill.",
            )


def enrol_worker(request: EnrolmentRequest, now_s: float) -> EnrolledWorker:
    """Let a machine join: the token is used up, and the machine has an identity.

    A machine that asks again with the same token and key, since it lost the answer, gets the same identity
    and a new credential.

    Raises:
        InputError: an unknown, expired or used token, a key that is in the fleet already, a policy that names
            no factor, or versions that coordinator and worker do not share.
    """
    check_versions(request.inventory)
    for told in (request.inventory, request.policy):
        check_numbers(told)
    if len(msgspec.json.encode(request.policy)) > MOST_POLICY_BYTES:
        raise InputError(
            f"the policy has more than {MOST_POLICY_BYTES} bytes",
            where="policy",
            remedy="Name fewer packages.",
        )
    check_policy_names(request.policy)
    if not _PUBLIC_KEY.fullmatch(request.public_key):
        raise InputError("this is not the public key of a worker", where="public_key")
    with transaction.atomic():
        token = (
            EnrolmentToken.objects.select_related("owner", "worker")
            .filter(sha256=hash_secret(request.token))
            .first()
        )
        # Those of an account that was closed are nobody's.
        if token is None or not token.owner.is_active:
            raise refuse_unknown_token()
        if token.expires_unix_s <= now_s:
            raise InputError("this enrolment token has expired", where="--token", remedy=_NEW_TOKEN)
        api_key = secrets.token_urlsafe(32)
        if token.worker is not None:
            return _repeat_answer(token.worker, request, api_key)
        if FleetWorker.objects.filter(public_key=request.public_key).exists():
            raise InputError(
                "a worker with this identity is in the fleet already",
                where="public_key",
                remedy="Join without a token from its own state folder, or use a new state folder: copies of "
                "one machine's disk need one each.",
            )
        machines = FleetWorker.objects.filter(owner=token.owner).exclude(state=WorkerState.REMOVED)
        if machines.count() >= MOST_MACHINES:
            raise InputError(
                f"{token.owner.username} has {MOST_MACHINES} machines in the fleet",
                where="--token",
                remedy="Remove those that are gone with: datamill workers remove NAME",
            )
        worker = _insert_worker(request, token.owner, api_key, now_s)
        token.worker, token.used_unix_s = worker, now_s
        token.save(update_fields=["worker", "used_unix_s"])
    return EnrolledWorker(worker.worker_id, worker.name, api_key)


def refuse_unknown_token() -> InputError:
    """Return what a machine is told whose token was never made here."""
    return InputError("this enrolment token is unknown", where="--token", remedy=_NEW_TOKEN)


def _repeat_answer(worker: FleetWorker, request: EnrolmentRequest, api_key: str) -> EnrolledWorker:
    if worker.public_key != request.public_key or worker.state == WorkerState.REMOVED:
        raise InputError(
            "this enrolment token was used already",
            where="--token",
            remedy=f"Each machine needs its own. {_NEW_TOKEN}",
        )
    # Who floods is not let in again by the way that it came first.
    if worker.credential_void_unix_s is not None and worker.state == WorkerState.DRAINED:
        raise InputError(
            f"this worker is drained: {worker.state_reason}",
            where="--token",
            remedy="Look at the machine, then: datamill workers resume NAME",
        )
    worker.api_key_sha256 = hash_secret(api_key)
    worker.save(update_fields=["api_key_sha256"])
    return EnrolledWorker(worker.worker_id, worker.name, api_key)


def _insert_worker(request: EnrolmentRequest, owner: User, api_key: str, now_s: float) -> FleetWorker:
    inventory = request.inventory
    name = _find_free_name(request.name or inventory.hostname)
    hardware = list_hardware_levels(inventory) | {"machine": name}
    offset_s = inventory.clock_unix_ns / 1e9 - now_s
    worker = FleetWorker.objects.create(
        worker_id=name_worker(request.public_key),
        name=name,
        owner=owner,
        public_key=request.public_key,
        api_key_sha256=hash_secret(api_key),
        inventory=msgspec.json.encode(inventory),
        hardware=hardware,
        hardware_key=digest_hardware(hardware),
        policy=msgspec.json.encode(request.policy),
        boot_id=clean_text(inventory.host.boot_id, 64),
        clock_offset_s=offset_s,
        joined_unix_s=now_s,
        heard_unix_s=now_s,
        # Away until a process of it says hello: one that ends before gets no trials.
        left_unix_s=now_s,
        orders_sequence=1,
    )
    joined = NewEvent(
        EventKind.JOINED, user=owner.username, worker_id=worker.worker_id, detail=f"{name} joined the fleet."
    )
    add_events([joined, *describe_clock(worker.worker_id, 0.0, offset_s)], now_s)
    return worker


def name_worker(public_key: str) -> str:
    """Return the identity that a worker has by its key."""
    digest = hashlib.sha256(public_key.encode()).digest()
    return "w" + base64.b32encode(digest).decode().lower()[:12]


def describe_clock(worker_id: str, before_s: float, offset_s: float) -> list[NewEvent]:
    """Return the event of a clock that went wrong since it was last heard of, if it did."""
    if abs(offset_s) <= CLOCK_OFF_S or abs(before_s) > CLOCK_OFF_S:
        return []
    ahead = "ahead of" if offset_s > 0 else "behind"
    return [
        NewEvent(
            EventKind.CLOCK_OFF,
            worker_id=worker_id,
            detail=f"Its clock is {format_fixed(abs(offset_s), 0)} s {ahead} the coordinator's.",
        )
    ]


def _find_free_name(wanted: str) -> str:
    """Return the wanted name as far as it can be one, with a number behind it where it is taken."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", wanted)[:_MOST_NAME].strip("-.") or "worker"
    number, free = 1, name
    while FleetWorker.objects.filter(name=free).exists():
        number += 1
        free = f"{name}-{number}"
    return free
