"""The keys with which the coordinator grants rights at the broker, and where they are kept."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import msgspec
import nkeys
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from datamill.experiment.errors import InputError
from datamill.service.kept_secrets import write_secret


class Keys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seeds of the identities that sign at the broker, and of the coordinator's own.

    `operator_seed` and `system_seed` are absent with an external broker, whose operator is someone else.
    `account_id` is the account where it is not that of `account_seed`, which is then one of its signing keys.
    """

    account_seed: str
    coordinator_seed: str
    operator_seed: str = ""
    system_seed: str = ""
    account_id: str = ""

    @property
    def account(self) -> str:
        """Public key of the account in which the fleet lives, `A...`."""
        return self.account_id or public_key(self.account_seed)


def make_seed(prefix: int) -> str:
    """Make a new identity of a kind (`nkeys.PREFIX_BYTE_…`) and return its seed."""
    return _as_text(nkeys.encode_seed(os.urandom(32), prefix))


def public_key(seed: str) -> str:
    """Return the public key of a seed."""
    return _as_text(nkeys.from_seed(seed.encode()).public_key)


def sign(seed: str, message: bytes) -> bytes:
    """Return the signature of a message, 64 bytes."""
    signature = nkeys.from_seed(seed.encode()).sign(message)
    assert isinstance(signature, bytes)
    return signature


def is_signed(public: str, message: bytes, signature: str) -> bool:
    """Tell whether a message was signed with the seed of a public key.

    Args:
        public: the key.
        message: what was signed.
        signature: in hexadecimal.
    """
    try:
        # A byte of its kind, 32 of the key, a checksum of two.
        VerifyKey(base64.b32decode(public)[1:-2]).verify(message, bytes.fromhex(signature))
    except (ValueError, TypeError, BadSignatureError):
        return False
    return True


def load_keys(file: Path) -> Keys:
    """Read the keys from a file that only its owner may read, or make them and write it.

    Raises:
        InputError: when the file is there and is not ours.
    """
    if file.exists():
        try:
            return msgspec.json.decode(file.read_bytes(), type=Keys)
        except msgspec.MsgspecError as error:
            raise InputError(
                f"these are not the keys of a coordinator: {error}",
                where=str(file),
                remedy="Put the file back from a backup: workers that joined trust these keys alone.",
            ) from None
    keys = Keys(
        account_seed=make_seed(nkeys.PREFIX_BYTE_ACCOUNT),
        coordinator_seed=make_seed(nkeys.PREFIX_BYTE_USER),
        operator_seed=make_seed(nkeys.PREFIX_BYTE_OPERATOR),
        system_seed=make_seed(nkeys.PREFIX_BYTE_ACCOUNT),
    )
    write_secret(file, msgspec.json.format(msgspec.json.encode(keys)) + b"\n")
    return keys


def read_account_seed(file: Path, account_id: str) -> Keys:
    """Return the keys for an external broker, whose account's seed (or signing key's) is in a file.

    Raises:
        InputError: when there is no seed of an account in it.
    """
    words = [word for word in file.read_text(encoding="utf-8", errors="replace").split() if word[:2] == "SA"]
    try:
        seed = words[0]
        public_key(seed)
    except (IndexError, ValueError, nkeys.NkeysError):
        raise InputError(
            "there is no seed of an account in this file",
            where=str(file),
            remedy="It is a line SA… of 58 characters, such as nsc generate nkey --account writes.",
        ) from None
    return Keys(account_seed=seed, coordinator_seed=make_seed(nkeys.PREFIX_BYTE_USER), account_id=account_id)


def _as_text(key: bytes | bytearray | str) -> str:
    return key if isinstance(key, str) else bytes(key).decode()
