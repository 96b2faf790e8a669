"""Which attempts a machine will not make (`policy.rs`, `lease.rs`)."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from datamill.protocol.fleet import Lease

if TYPE_CHECKING:
    from simulation.machines.machine import Machine


def find_refusal(machine: Machine, lease: Lease, random: Random) -> tuple[str, str] | None:
    """Return why this machine will not make an attempt, None when it will."""
    policy, spec = machine.policy, lease.spec
    if machine.refuses:
        return random.choice(("policy", "file", "disk", "version", "factor")), "it will not"
    if policy.users and lease.user not in policy.users:
        return "policy", "this user's experiments do not run here"
    shipped = [item.sha256 for item in (spec.package, spec.background, *spec.user_factors) if item]
    if policy.packages and not set(shipped) <= set(policy.packages):
        return "policy", "this package does not run here"
    if set(policy.forbidden_factors).intersection(spec.levels):
        return "policy", "this factor is not set here"
    if lease.reboot and not policy.reboot:
        return "policy", "this machine is not rebooted"
    is_root = spec.needs.privileged or spec.isolation == "overlay"
    if is_root and not policy.privileged:
        return "policy", "nobody is root here"
    if (spec.needs.network and not policy.network) or set(spec.needs.kernel) - set(policy.kernel):
        return "policy", "this package gets less here"
    if spec.isolation == "plain" and not policy.plain:
        return "policy", "nothing would keep the package apart"
    if policy.package_bytes and any(need.bytes > policy.package_bytes for need in lease.files):
        return "policy", "a file is too large"
    if machine.disk.full:
        return "disk", "no room"
    return None
