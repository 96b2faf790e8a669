"""Who may do what at the broker, as signed claims (JWT, version 2 of NATS); pure functions of keys and names.

The broker knows the operator; the operator vouches for one account; the account for the coordinator and for
each worker. A new worker is a new signature and no change at the broker. A removed one is named in the
account's claims.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from datamill.protocol.fleet import jobs_subject, results_subject, status_subject
from datamill.service.broker.keys import Keys, public_key, sign

#: Life of a worker's credential, in seconds.
LIFE_S = 7 * 86400.0
_HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}
_UNLIMITED = -1
#: By how much clocks may differ, in seconds.
_MARGIN_S = 3600.0
#: When the operator's claims were made: always then, for nats-server reads no new configuration in which
#: these are others, and so would not learn who was removed.
_OPERATOR_SINCE_S = 1_767_225_600.0
#: Names everybody among those whose credentials are void.
_ALL = "*"
#: Largest message, in bytes: the record of a trial, with all its measurements.
MOST_PAYLOAD_BYTES = 8 << 20
#: Subscriptions of one connection of a worker, which needs one.
_MOST_SUBSCRIPTIONS = 4


def sign_operator(keys: Keys) -> str:
    """Return the claims of the operator about itself."""
    operator = public_key(keys.operator_seed)
    nats = {"type": "operator", "version": 2, "system_account": public_key(keys.system_seed)}
    return _sign(keys.operator_seed, operator, "datamill", nats, _OPERATOR_SINCE_S)


def sign_account(keys: Keys, revoked: Mapping[str, float], now_s: float) -> str:
    """Return the operator's claims about the fleet's account: no streams, and whom it no longer knows.

    Everybody's credentials are void that are older than any that is valid: such were made without an end.

    Args:
        keys: with the operator's.
        revoked: times by public keys of workers; credentials of theirs that were made before are void.
        now_s: time of the claims, seconds since the Unix epoch.
    """
    nats: dict[str, Any] = {
        "type": "account",
        "version": 2,
        "limits": {
            "subs": _UNLIMITED,
            "data": _UNLIMITED,
            "payload": _UNLIMITED,
            "imports": 0,
            "exports": 0,
            "wildcards": False,
            "conn": _UNLIMITED,
            "leaf": 0,
        },
        "default_permissions": {"pub": {}, "sub": {}},
    }
    void = {name: int(since_s) for name, since_s in sorted(revoked.items())}
    nats["revocations"] = {_ALL: int(now_s - LIFE_S - _MARGIN_S), **void}
    return _sign(keys.operator_seed, keys.account, "fleet", nats, now_s)


def sign_system_account(keys: Keys, now_s: float) -> str:
    """Return the operator's claims about the broker's own account, which nobody uses."""
    nats = {
        "type": "account",
        "version": 2,
        "limits": {"subs": _UNLIMITED, "data": _UNLIMITED, "payload": _UNLIMITED, "conn": _UNLIMITED},
    }
    return _sign(keys.operator_seed, public_key(keys.system_seed), "system", nats, now_s)


def sign_coordinator(keys: Keys, now_s: float) -> str:
    """Return the account's claims about the coordinator, which may do everything in it."""
    return _sign_user(keys, public_key(keys.coordinator_seed), "coordinator", {"pub": {}, "sub": {}}, now_s)


def sign_worker(keys: Keys, worker_id: str, worker_key: str, now_s: float) -> str:
    """Return the account's claims about a worker: it hears its own orders and sends its own reports.

    It may name no subject to which anything would be answered: it has no inbox, and no subject of its own is
    part of a stream. The claims end after `LIFE_S`.

    Args:
        keys: with the account's.
        worker_id: letters and digits, for they become subjects.
        worker_key: public key of the worker, `U...`.
        now_s: time of the claims, seconds since the Unix epoch.

    Raises:
        ValueError: when an identity holds what could reach another's subjects.
    """
    if not (worker_id.isascii() and worker_id.isalnum()):
        raise ValueError(f"{worker_id!r} cannot be the identity of a worker")
    rights = {
        "pub": {"allow": [results_subject(worker_id), status_subject(worker_id)]},
        "sub": {"allow": [jobs_subject(worker_id)]},
        "subs": _MOST_SUBSCRIPTIONS,
        "payload": MOST_PAYLOAD_BYTES,
        "allowed_connection_types": ["STANDARD"],
    }
    return _sign_user(keys, worker_key, worker_id, rights, now_s, now_s + LIFE_S)


def is_user_key(text: str) -> bool:
    """Tell whether a text is the public key of a user, `U...`, with its checksum right."""
    try:
        raw = base64.b32decode(text)
    except ValueError:
        return False
    return len(raw) == 35 and raw[0] == 20 << 3 and _crc16(raw[:-2]) == int.from_bytes(raw[-2:], "little")


def _sign_user(
    keys: Keys, user: str, name: str, rights: dict[str, Any], now_s: float, end_s: float | None = None
) -> str:
    nats = {
        "subs": _UNLIMITED,
        "data": _UNLIMITED,
        "payload": _UNLIMITED,
        **rights,
        "type": "user",
        "version": 2,
    }
    if keys.account_id and keys.account_id != public_key(keys.account_seed):
        nats["issuer_account"] = keys.account_id
    return _sign(keys.account_seed, user, name, nats, now_s, end_s)


def _sign(
    seed: str, subject: str, name: str, nats: dict[str, Any], now_s: float, end_s: float | None = None
) -> str:
    claims = {"iat": int(now_s), "iss": public_key(seed), "name": name, "sub": subject, "nats": nats}
    if end_s is not None:
        claims["exp"] = int(end_s)
    digest = hashlib.sha256(json.dumps(claims, sort_keys=True).encode()).digest()
    claims["jti"] = base64.b32encode(digest).decode().rstrip("=")
    message = f"{_encode(json.dumps(_HEADER).encode())}.{_encode(json.dumps(claims).encode())}"
    return f"{message}.{_encode(sign(seed, message.encode()))}"


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _crc16(raw: bytes) -> int:
    """CRC-16/XMODEM, the checksum of NKEYs."""
    crc = 0
    for byte in raw:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc
