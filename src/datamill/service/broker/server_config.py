"""The configuration of the nats-server that `datamill serve` starts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from datamill.service.broker.credentials import (
    MOST_PAYLOAD_BYTES,
    sign_account,
    sign_operator,
    sign_system_account,
)
from datamill.service.broker.keys import Keys, public_key

#: Connections, where there are open files for so many.
MOST_CONNECTIONS = 100_000
#: How long a connection may take for its handshake, and how long until it says who it is; in seconds.
_HANDSHAKE_S = 5
_SIGN_IN_S = 6


@dataclass(frozen=True)
class BrokerTls:
    """Files with which the broker proves who it is."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class BrokerPlace:
    """Where the broker listens and keeps its files."""

    folder: Path
    host: str
    port: int
    tls: BrokerTls | None = None
    #: Each is an open file; its store needs others.
    most_connections: int = MOST_CONNECTIONS

    @property
    def config_file(self) -> Path:
        """Return where its configuration is."""
        return self.folder / "server.conf"

    @property
    def own_host(self) -> str:
        """Return the address under which this machine itself reaches it."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)

    @property
    def own_url(self) -> str:
        """Return its address for the coordinator."""
        return self.url_for_workers.format(host=_bracket(self.own_host))

    @property
    def url_for_workers(self) -> str:
        """Return its address for machines that reach the coordinator under whatever name."""
        return f"{'tls' if self.tls else 'nats'}://{{host}}:{self.port}"


def format_server_config(place: BrokerPlace, keys: Keys, revoked: Mapping[str, float], now_s: float) -> str:
    """Return the configuration, in the format of nats-server 2.15.

    It has no JetStream: nothing is kept, and nothing is answered on a subject that a worker named. What is
    lost is sent again by the side that waits for its answer. It pings once a day, so that a worker that waits
    is not woken.

    Args:
        place: where it listens and keeps its files.
        keys: with those of operator and system account.
        revoked: times by public keys of workers, whose credentials from before are void.
        now_s: time of the claims, seconds since the Unix epoch.
    """
    preload = {
        keys.account: sign_account(keys, revoked, now_s),
        public_key(keys.system_seed): sign_system_account(keys, now_s),
    }
    lines = [
        'server_name: "coordinator"',
        f"listen: {json.dumps(f'{_bracket(place.host)}:{place.port}')}",
        f"max_payload: {MOST_PAYLOAD_BYTES}",
        "max_pending: 268435456",
        f"max_connections: {place.most_connections}",
        f"authorization {{ timeout: {_SIGN_IN_S} }}",
        'ping_interval: "24h"',
        f"log_file: {json.dumps(str(place.folder / 'server.log'))}",
        f"pid_file: {json.dumps(str(place.folder / 'server.pid'))}",
        "logfile_size_limit: 8388608",
        "logfile_max_num: 4",
        f"operator: {sign_operator(keys)}",
        f"system_account: {public_key(keys.system_seed)}",
        "resolver: MEMORY",
        "resolver_preload: {",
        *(f"  {account}: {claims}" for account, claims in preload.items()),
        "}",
    ]
    if place.tls:
        certificate, key = (json.dumps(str(file)) for file in (place.tls.certificate, place.tls.key))
        lines.append(f"tls {{ cert_file: {certificate}, key_file: {key}, timeout: {_HANDSHAKE_S} }}")
    return "\n".join(lines) + "\n"


def _bracket(host: str) -> str:
    return f"[{host}]" if ":" in host else host
