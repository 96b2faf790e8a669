"""What owners of machines allow."""

import pytest

from datamill.protocol.fleet import Policy
from datamill.protocol.trial import Needs
from datamill.service.coordinator.joining.policies import (
    ShippedFile,
    find_needs_objection,
    find_policy_objection,
)

FILES = (
    ShippedFile("package", "sort", "a" * 64, 1000),
    ShippedFile("load", "compile", "b" * 64, 2000),
    ShippedFile("factor", "swappiness", "c" * 64, 10),
)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Policy(), ""),
        (Policy(users=("ada",), packages=tuple(item.sha256 for item in FILES), package_bytes=2000), ""),
        (Policy(users=("eve",)), "experiments of ada"),
        (Policy(packages=("a" * 64, "c" * 64)), 'load "compile"'),
        (Policy(package_bytes=1500), 'load "compile" is larger'),
        (Policy(forbidden_factors=("swappiness",)), "the factor swappiness"),
        (Policy(forbidden_factors=("compile",)), ""),
    ],
)
def test_every_file_that_goes_to_a_machine_must_be_allowed_there(policy: Policy, words: str) -> None:
    objection = find_policy_objection(policy, "ada", FILES)
    assert words in objection
    assert bool(objection) == bool(words)


@pytest.mark.parametrize(
    ("listed", "asked", "is_shown"),
    [
        ((), "/srv/spec", False),
        (("/srv/spec",), "/srv/spec", True),
        (("/srv/spec",), "/srv/spec/bin", True),
        (("/srv/spec/",), "/srv/spec", True),
        (("/srv/spec",), "/srv/spec2017", False),
        (("/srv/spec",), "/srv", False),
        (("/srv/spec",), "/srv/spec/../keys", False),
    ],
)
def test_an_owner_shows_the_named_folders_and_what_is_in_them(
    listed: tuple[str, ...], asked: str, is_shown: bool
) -> None:
    objection = find_needs_objection(Policy(folders=listed), [("spec", Needs(folders=(asked,)))])
    assert (objection == "") == is_shown
    assert is_shown or objection == f'its owner does not show {asked}, and "spec" needs it'
