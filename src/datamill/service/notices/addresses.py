"""Which addresses notices may be sent to: what a user types must not reach into the coordinator's network."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from datamill.experiment.errors import InputError

#: Ports of webhooks that are not on a host which the operator named.
_PORTS = (443, 8443)
_MOST_CHARACTERS = 500
_URL = re.compile(r"https?://[\x21-\x7e]+")
_MAIL = re.compile(
    r"[A-Za-z0-9._%+'-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}"
)
#: Blocks that stand for addresses of IPv4 in them, wherever these lead: translators, tunnels.
_TRANSLATED = tuple(
    map(ipaddress.IPv6Network, ("::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16"))
)


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook's address in its parts; `inner` is one of a host that the operator named."""

    secure: bool
    host: str
    port: int
    path: str
    inner: bool


def parse_webhook(url: str, inner_hosts: frozenset[str]) -> Webhook:
    """Return an address that notices may be sent to, as far as its text says.

    Args:
        url: what a user typed.
        inner_hosts: hosts of the operator's network that may be named, with any port and without TLS.

    Raises:
        InputError: with what it may be.
    """
    remedy = "Give an address such as https://example.org/hook."
    if len(url) > _MOST_CHARACTERS or not _URL.fullmatch(url):
        raise InputError(f'"{url[:60]}" is not the address of a webhook', remedy=remedy)
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        raise InputError(f'"{url[:60]}" is not an address', remedy=remedy) from None
    if not host or parts.username is not None or parts.password is not None or parts.fragment:
        raise InputError("a webhook has a host, and neither a user nor a fragment", remedy=remedy)
    secure = parts.scheme == "https"
    inner = host in inner_hosts
    port = port or (443 if secure else 80)
    if not inner and not secure:
        raise InputError("a webhook speaks https", remedy=remedy)
    if not inner and port not in _PORTS:
        allowed = " or ".join(map(str, _PORTS))
        raise InputError(f"a webhook listens on port {allowed}", remedy=remedy)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Webhook(secure, host, port, path, inner)


def resolve_webhook(webhook: Webhook) -> str:
    """Return the address to connect to; connecting to the name again could lead elsewhere.

    Raises:
        InputError: the name leads nowhere, or into a network that is not public.
    """
    try:
        found = socket.getaddrinfo(webhook.host, webhook.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise InputError(f'the host "{webhook.host}" is not known') from None
    addresses = [str(item[4][0]) for item in found]
    if not webhook.inner:
        for address in addresses:
            if not is_public(address):
                raise InputError(
                    f'the host "{webhook.host}" is not on the public network',
                    remedy="Ask the people who run this coordinator to name the host when it starts.",
                )
    return addresses[0]


def is_public(text: str) -> bool:
    """Tell whether an address of IPv4 or IPv6 is one of the public network, and none of ours in disguise."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        elif any(address in block for block in _TRANSLATED):
            return False
    return address.is_global and not address.is_multicast


def check_mail_address(text: str) -> str:
    """Return a mail address that can be one.

    Raises:
        InputError: when it cannot.
    """
    if len(text) > 254 or not _MAIL.fullmatch(text):
        raise InputError(f'"{text[:60]}" is not a mail address', remedy="Give one such as ada@example.org.")
    return text
