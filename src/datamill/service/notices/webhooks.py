"""A notice sent to a webhook: signed as Standard Webhooks 1.0 has it, over one connection, unredirected."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import secrets
import socket
import ssl
import threading

from datamill.experiment.errors import InputError
from datamill.service.notices.addresses import Webhook, resolve_webhook

#: Of all that a webhook may take, and of one wait for it.
_MOST_S, _WAIT_S = 15.0, 8.0
_SECRET_BYTES = 24
_PREFIX = "whsec_"


class UndeliveredError(Exception):
    """A notice did not arrive; says why."""


def make_secret() -> str:
    """Return a key for signatures as its users keep it."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def sign(secret: str, message_id: str, unix_s: int, body: bytes) -> str:
    """Return the signature of a message: HMAC with SHA-256 over its id, its time and its body."""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    signed = f"{message_id}.{unix_s}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def send_webhook(webhook: Webhook, secret: str, message_id: str, unix_s: int, body: bytes) -> None:
    """Send a message; it has arrived when a status from 200 to 299 comes back.

    Raises:
        UndeliveredError: it did not arrive.
    """
    try:
        address = resolve_webhook(webhook)
    except InputError as problem:
        raise UndeliveredError(problem.message) from None
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "datamill",
        "Webhook-Id": message_id,
        "Webhook-Timestamp": str(unix_s),
        "Webhook-Signature": sign(secret, message_id, unix_s, body),
    }
    connection = _PinnedConnection(webhook, address)
    # Each wait has its bound; a host that drips a byte before each has none without this one.
    guard = threading.Timer(_MOST_S, connection.cut)
    guard.daemon = True
    guard.start()
    try:
        connection.request("POST", webhook.path, body, headers)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise UndeliveredError(f"{type(error).__name__}: {error}"[:300]) from None
    finally:
        guard.cancel()
        connection.close()
    if not 200 <= status < 300:
        raise UndeliveredError(f"it answered with status {status}")


class _PinnedConnection(http.client.HTTPConnection):
    """Connects to an address that was looked at, and speaks to the host of its name."""

    def __init__(self, webhook: Webhook, address: str) -> None:
        super().__init__(webhook.host, webhook.port, timeout=_WAIT_S)
        self._webhook = webhook
        self._address = address

    def connect(self) -> None:
        """Connect to the address; with TLS the certificate is the host's."""
        self.sock = socket.create_connection((self._address, self._webhook.port), _WAIT_S)
        if self._webhook.secure:
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=self._webhook.host)

    def cut(self) -> None:
        """End the connection under the hands of whoever waits for it."""
        if self.sock is not None:
            try:
                self.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                self.sock.close()
