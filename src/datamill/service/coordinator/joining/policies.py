"""What the owners of machines allow: asked before a plan is made, and before a trial moves."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import NamedTuple

from datamill.experiment.experiment import Experiment, Isolation
from datamill.protocol.fleet import Policy
from datamill.protocol.trial import IsolationKind, Needs
from datamill.results.bundles.bundle_head import BundleHead
from datamill.results.bundles.trial_spec import list_needs


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


def list_all_needs(experiment: Experiment) -> list[tuple[str, Needs]]:
    """Return the needs of each package of an experiment and of each of its loads, by name."""
    packages = [(item.name, list_needs(experiment, item.name)) for item in experiment.packages]
    return packages + [(item.name, list_needs(experiment, "", item.name)) for item in experiment.loads]


def find_needs_objection(policy: Policy, needs: Iterable[tuple[str, Needs]]) -> str:
    """Return what a machine's owner does not give to a package, empty when it gets all that it needs."""
    for name, item in needs:
        if item.privileged and not policy.privileged:
            return f'its owner gives all rights of root to nobody, and "{name}" needs them'
        if item.network and not policy.network:
            return f'its owner gives its network to nobody, and "{name}" needs it'
        if barred := [device for device in item.devices if device not in policy.devices]:
            return f'its owner does not give {barred[0]}, and "{name}" needs it'
        if unshown := [folder for folder in item.folders if not _may_show(policy, folder)]:
            return f'its owner does not show {unshown[0]}, and "{name}" needs it'
        if closed := [interface for interface in item.kernel if interface not in policy.kernel]:
            return f'its owner does not open {closed[0]} of its kernel, and "{name}" needs it'
    return ""


def _may_show(policy: Policy, folder: str) -> bool:
    """Whether a folder is one that the owner named, or lies in one; the worker follows the links."""
    path = PurePosixPath(folder)
    return ".." not in path.parts and any(path.is_relative_to(listed) for listed in policy.folders)


def find_isolation_objection(policy: Policy, wanted: Isolation, strongest: IsolationKind) -> str:
    """Return why trials that want a kind of world may not run where `strongest` is the strongest there is."""
    kind = strongest if wanted == "auto" else wanted
    if policy.guests_only and kind != "guest":
        return 'its owner allows packages in guests alone: isolation = "guest"'
    if kind == "plain" and not policy.plain:
        return "nothing would keep packages apart from it, and its owner does not allow that"
    if kind == "overlay" and not policy.privileged:
        return "packages would be its root, and its owner does not allow that"
    return ""
