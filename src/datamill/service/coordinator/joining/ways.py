"""What has to change so that a machine takes part: its owner's policy, or what is submitted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from datamill.experiment.experiment import Isolation
from datamill.experiment.messages.phrases import list_first
from datamill.protocol.fleet import Policy
from datamill.protocol.trial import IsolationKind, Needs
from datamill.service.coordinator.joining.policies import (
    ShippedFile,
    find_isolation_objection,
    find_needs_objection,
    find_policy_objection,
)

#: Changes that a sentence names.
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class Way:
    """Changes by which a machine can run a submission: all of the `owner`'s, or all of the `submitter`'s.

    Where `submitter` is empty the submitter alone can do nothing. `policy` is what the owner's would be.
    """

    policy: Policy
    owner: tuple[str, ...]
    submitter: tuple[str, ...]

    def phrase(self, machine: str) -> str:
        """Say it in one sentence."""
        owner = f"its owner wrote {list_first(self.owner, _MOST_NAMED)} in its policy.toml"
        if not self.submitter:
            return f"{machine} could take part if {owner}."
        return f"{machine} could take part if {owner}, or if you {list_first(self.submitter, _MOST_NAMED)}."


def find_way(
    policy: Policy,
    user: str,
    files: Sequence[ShippedFile],
    needs: Sequence[tuple[str, Needs]],
    *,
    wanted: Isolation,
    strongest: IsolationKind,
    guests: bool,
) -> Way | None:
    """Return what would let a machine run what its owner does not allow; None where the policy allows it.

    The policy with all of the owner's changes has no objection any more; nothing else is changed. `guests`
    says whether the machine can run packages in emulated machines.
    """
    owner: list[str] = []
    submitter: list[str] = []
    alone = True
    if policy.users and user not in policy.users:
        policy = replace(policy, users=(*policy.users, user))
        owner.append(f'users with "{user}"')
        alone = False
    for item in files:
        if not find_policy_objection(policy, user, [item]):
            continue
        alone = False
        if policy.packages and item.sha256 not in policy.packages:
            policy = replace(policy, packages=(*policy.packages, item.sha256))
            owner.append(f'packages with "{item.sha256}"')
        if policy.package_bytes and item.size_bytes > policy.package_bytes:
            policy = replace(policy, package_bytes=item.size_bytes)
            owner.append(f"package_bytes = {item.size_bytes}")
        if item.kind == "factor" and item.name in policy.forbidden_factors:
            left = tuple(name for name in policy.forbidden_factors if name != item.name)
            policy = replace(policy, forbidden_factors=left)
            owner.append(f'forbidden_factors without "{item.name}"')
    for name, item_needs in needs:
        lacking = list(_list_lacking(policy, name, item_needs))
        for change, ask, field, value in lacking:
            policy = replace(policy, **{field: value})
            owner.append(change)
            submitter.append(f'left {ask} out of "{name}"')
    if find_isolation_objection(policy, wanted, strongest):
        kind = strongest if wanted == "auto" else wanted
        if policy.guests_only and kind != "guest":
            policy = replace(policy, guests_only=False)
            owner.append("guests_only = false")
            alone = alone and guests
            submitter.append('wrote isolation = "guest"')
        if kind == "plain" and not policy.plain:
            policy = replace(policy, plain=True)
            owner.append("plain = true")
            asks_for_less = wanted != "auto" and strongest != "plain"
            alone = alone and (guests or asks_for_less)
            submitter.append(f'wrote isolation = "{"auto" if asks_for_less else "guest"}"')
        if kind == "overlay" and not policy.privileged:
            policy = replace(policy, privileged=True)
            owner.append("privileged = true")
            submitter.append('wrote isolation = "confined"')
    if not owner:
        return None
    kept = _drop_repeats(submitter) if alone else ()
    return Way(policy, _drop_repeats(owner), kept)


def _list_lacking(policy: Policy, name: str, needs: Needs) -> Iterable[tuple[str, str, str, object]]:
    """Yield what a package needs and a policy does not give: the line, what is asked for, field and value."""
    if needs.privileged and not policy.privileged:
        yield "privileged = true", "privileged", "privileged", True
    if needs.network and not policy.network:
        yield "network = true", "network", "network", True
    for field, asked in (("devices", needs.devices), ("kernel", needs.kernel), ("folders", needs.folders)):
        given: tuple[str, ...] = getattr(policy, field)
        only = {"devices": (), "kernel": (), "folders": ()} | {field: asked}
        rest = Needs(**{key: tuple(value) for key, value in only.items()})  # type: ignore[arg-type]
        if find_needs_objection(policy, [(name, rest)]):
            listed = ", ".join(f'"{item}"' for item in asked if item not in given)
            yield f"{field} with {listed}", f"{field} ({listed})", field, (*given, *asked)


def _drop_repeats(changes: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(changes))
