"""What both sides would have to change so that a machine takes part, said in one sentence."""

from __future__ import annotations

import pytest

from datamill.experiment.experiment import Isolation
from datamill.protocol.fleet import Policy
from datamill.protocol.trial import NO_NEEDS, IsolationKind, Needs
from datamill.service.coordinator.joining.policies import (
    ShippedFile,
    find_isolation_objection,
    find_needs_objection,
    find_policy_objection,
)
from datamill.service.coordinator.joining.ways import Way, find_way

FILES = (ShippedFile("package", "sort", "a" * 64, 1000), ShippedFile("factor", "swappiness", "c" * 64, 10))
NEEDY = Needs(
    network=True, devices=("/dev/kvm",), kernel=("perf_events",), privileged=True, folders=("/srv/x",)
)


def find(
    policy: Policy,
    needs: Needs = NO_NEEDS,
    *,
    wanted: Isolation = "auto",
    strongest: IsolationKind = "confined",
    guests: bool = False,
) -> Way | None:
    return find_way(
        policy, "ada", FILES, [("sort", needs)], wanted=wanted, strongest=strongest, guests=guests
    )


@pytest.mark.parametrize("strongest", ["confined", "user_namespace", "guest"])
def test_defaults_of_both_sides_go_together_where_something_keeps_packages_apart(
    strongest: IsolationKind,
) -> None:
    assert find(Policy(), strongest=strongest) is None


@pytest.mark.parametrize(
    ("policy", "needs", "wanted", "strongest", "owner", "submitter"),
    [
        (Policy(), Needs(), "auto", "plain", ("plain = true",), ()),
        (Policy(users=("eve",)), Needs(), "auto", "confined", ('users with "ada"',), ()),
        (Policy(package_bytes=100), Needs(), "auto", "confined", ("package_bytes = 1000",), ()),
        (
            Policy(forbidden_factors=("swappiness",)), Needs(), "auto", "confined",
            ('forbidden_factors without "swappiness"',), (),
        ),
        (
            Policy(), Needs(network=True), "auto", "confined", ("network = true",),
            ('left network out of "sort"',),
        ),
        (
            Policy(), Needs(), "overlay", "confined", ("privileged = true",),
            ('wrote isolation = "confined"',),
        ),
        (Policy(), Needs(), "plain", "confined", ("plain = true",), ('wrote isolation = "auto"',)),
    ],
)  # fmt: skip
def test_the_lines_of_a_policy_and_of_a_submission_are_named(
    policy: Policy,
    needs: Needs,
    wanted: Isolation,
    strongest: IsolationKind,
    owner: tuple[str, ...],
    submitter: tuple[str, ...],
) -> None:
    way = find(policy, needs, wanted=wanted, strongest=strongest)
    assert way is not None
    assert (way.owner, way.submitter) == (owner, submitter)


@pytest.mark.parametrize(
    "policy",
    [Policy(), Policy(users=("eve",), packages=("f" * 64,), package_bytes=5, guests_only=True)],
)
@pytest.mark.parametrize("strongest", ["confined", "overlay", "plain"])
def test_with_all_changes_of_the_owner_nothing_is_objected_to(
    policy: Policy, strongest: IsolationKind
) -> None:
    way = find(policy, NEEDY, strongest=strongest)
    assert way is not None
    assert not find_policy_objection(way.policy, "ada", FILES)
    assert not find_needs_objection(way.policy, [("sort", NEEDY)])
    assert not find_isolation_objection(way.policy, "auto", strongest)


def test_it_is_one_sentence_with_both_sides() -> None:
    way = find(Policy(guests_only=True), guests=True)
    assert way is not None
    assert way.phrase("lab-1") == (
        "lab-1 could take part if its owner wrote guests_only = false in its policy.toml, or if you wrote "
        'isolation = "guest".'
    )
