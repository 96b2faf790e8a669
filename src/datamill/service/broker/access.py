"""What the rest of the coordinator asks of the broker: credentials for workers, and its address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from datamill.experiment.errors import InputError
from datamill.service.broker.credentials import sign_worker
from datamill.service.broker.keys import Keys
from datamill.service.serving.tls import compute_fingerprint


@dataclass(frozen=True)
class BrokerAccess:
    """What a machine that joins is told, and what its credential is made from.

    Args:
        keys: signs credentials.
        worker_urls: addresses of the broker for workers, as in `Enrolment.nats_urls`.
        authority_pem: certificate of the authority, None where coordinator and broker speak without TLS.
        on_removal: called when a worker was removed.
    """

    keys: Keys
    worker_urls: tuple[str, ...]
    authority_pem: str | None = None
    on_removal: Callable[[], None] = lambda: None


_access: BrokerAccess | None = None


def set_broker_access(access: BrokerAccess | None) -> None:
    """Say how the broker is reached from now on."""
    global _access
    _access = access


def get_broker_access() -> BrokerAccess:
    """Return how the broker is reached.

    Raises:
        InputError: when no coordinator serves in this process.
    """
    if _access is None:
        raise InputError("the coordinator does not serve", remedy="Start it with datamill serve.")
    return _access


def issue_worker_credential(worker_id: str, public_key: str, now_s: float) -> str:
    """Return the credential with which a worker may touch its own subjects at the broker, and no others.

    Args:
        worker_id: its identity.
        public_key: its NKEY, checked to be one.
        now_s: when it is made.
    """
    return sign_worker(get_broker_access().keys, worker_id, public_key, now_s)


def read_fingerprint() -> str:
    """Return the second half of an enrolment token: of our authority, or `plain`."""
    return compute_fingerprint(get_broker_access().authority_pem)
