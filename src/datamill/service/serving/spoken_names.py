"""Which names the coordinator's authority may speak for: those that it had when it was made."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from cryptography import x509

#: Addresses that mean another machine in every network: certificates for them deceive nobody elsewhere.
_PRIVATE = (
    "127.0.0.0/8",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "100.64.0.0/10",
    "::1/128",
    "fc00::/7",
    "fe80::/10",
)


def make_name(text: str) -> x509.GeneralName:
    """Return a name or address as certificates have it."""
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text.encode("idna").decode() if not text.isascii() else text)


def make_constraints(names: Iterable[str]) -> x509.NameConstraints:
    """Return what an authority may speak for: these names, what is below them, and private addresses."""
    permitted: set[x509.GeneralName] = {x509.IPAddress(ipaddress.ip_network(text)) for text in _PRIVATE}
    for name in map(make_name, names):
        if isinstance(name, x509.IPAddress):
            # An address is written as the network that has it alone.
            if not any(name.value in _network(other) for other in permitted):
                permitted.add(x509.IPAddress(ipaddress.ip_network(str(name.value))))
        else:
            permitted.add(name)
    ordered = sorted(permitted, key=lambda name: (type(name).__name__, str(name.value)))
    return x509.NameConstraints(permitted_subtrees=ordered, excluded_subtrees=None)


def read_constraints(authority: x509.Certificate) -> x509.NameConstraints | None:
    """Return what an authority may speak for, None for one that may speak for all."""
    try:
        return authority.extensions.get_extension_for_class(x509.NameConstraints).value
    except x509.ExtensionNotFound:
        return None


def may_speak(constraints: x509.NameConstraints | None, text: str) -> bool:
    """Tell whether an authority with these constraints may speak for a name or address."""
    if constraints is None or constraints.permitted_subtrees is None:
        return True
    name = make_name(text)
    if isinstance(name, x509.IPAddress):
        return any(name.value in _network(other) for other in constraints.permitted_subtrees)
    wanted = str(name.value).lower()
    known = [
        str(other.value).lower()
        for other in constraints.permitted_subtrees
        if isinstance(other, x509.DNSName)
    ]
    return any(wanted == other or wanted.endswith(f".{other}") for other in known)


def _network(name: x509.GeneralName) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    if isinstance(name, x509.IPAddress) and isinstance(
        name.value, ipaddress.IPv4Network | ipaddress.IPv6Network
    ):
        return name.value
    # A host name has no network; no address that is asked for is in this one.
    return ipaddress.ip_network("255.255.255.255/32")
