"""What the owners of machines allow: asked before a plan is made, and before a trial moves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from datamill.results.bundle import BundleHead
from datamill.service.messages import Policy


class ShippedFile(NamedTuple):
    """A file that goes to a worker; `kind` is package, load or factor."""

    kind: str
    name: str
    sha256: str
    size_bytes: int


def list_shipped_files(head: BundleHead) -> list[ShippedFile]:
    """Return the files of a stored experiment."""
    files = [ShippedFile("package", item.name, item.sha256, item.bytes) for item in head.packages]
    files += [ShippedFile("load", item.name, item.sha256, item.bytes) for item in head.loads]
    files += [ShippedFile("factor", item.name, item.sha256, item.bytes) for item in head.factors]
    return files


def find_policy_objection(policy: Policy, user: str, files: Iterable[ShippedFile]) -> str:
    """Return why a machine's owner does not allow an experiment, empty when it is allowed.

    Reboots and factors of the catalogue are no matter of this: what a policy forbids of them, the machine
    does not offer.
    """
    if policy.users and user not in policy.users:
        return f"its owner does not allow experiments of {user}"
    for item in files:
        if policy.packages and item.sha256 not in policy.packages:
            return f'its owner does not allow {item.kind} "{item.name}"'
        if policy.package_bytes and item.size_bytes > policy.package_bytes:
            return f'{item.kind} "{item.name}" is larger than its owner allows'
        if item.kind == "factor" and item.name in policy.forbidden_factors:
            return f"its owner does not allow the factor {item.name}"
    return ""
