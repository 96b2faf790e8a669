"""From where somebody comes, as it is counted: an IPv4 address, or the /64 network of an IPv6 address."""

from __future__ import annotations

import ipaddress

_NETWORK_BITS = 64


def name_origin(address: str) -> str:
    """Return under what an address is counted.

    A visitor with one address of IPv6 has all 2^64 of its network, so these are one. An IPv4 address that
    came over an IPv6 socket is the same as without.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        if not found.is_loopback:
            return str(ipaddress.ip_network((found, _NETWORK_BITS), strict=False))
    return str(found)


def is_own_machine(origin: str) -> bool:
    """Tell whether connections from here are of this machine itself: its users, or a proxy before us."""
    try:
        return ipaddress.ip_address(origin).is_loopback
    except ValueError:
        return False
