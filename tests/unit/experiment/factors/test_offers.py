"""What a host offers: coverage counts it, and what it does not have is refused with the reason."""

import pytest

from datamill.design.points.factorial import choose_factors
from datamill.experiment.errors import InputError
from datamill.experiment.factors.offers import (
    check_offers,
    drop_unavailable_policy,
    explain_unavailable,
    list_asked_levels,
)
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.offers import FactorOffer, MissingLevel

HEAD = '[experiment]\nname = "here"\nseed = 5\n[[package]]\nname = "a"\npath = "a"\n'


def parse(sections: str):
    return parse_experiment(HEAD + sections, name="experiment.toml")


def offer(name: str, *levels: str, missing: dict[str, str] | None = None, reason: str = "") -> dict:
    gone = tuple(MissingLevel(level, why) for level, why in (missing or {}).items())
    return {name: FactorOffer(name, "process", levels, gone, reason=reason)}


def test_coverage_counts_the_levels_of_this_host() -> None:
    experiment = parse('[factors]\nallocator = "50%"\ngovernor = "100%"')
    offers = offer("allocator", "glibc", "jemalloc") | offer("governor", "performance", "powersave")
    allocator, governor = choose_factors(experiment, offers)
    assert (len(allocator.levels), allocator.available) == (1, 2)
    assert governor.levels == ("performance", "powersave")
    assert len(choose_factors(parse('[factors]\nallocator = "50%"'))[0].levels) == 2


def test_a_level_that_is_not_here_is_refused_with_the_reason_and_the_levels_that_are() -> None:
    experiment = parse('[factors]\nallocator = ["glibc", "mimalloc"]')
    offers = offer("allocator", "glibc", "jemalloc", missing={"mimalloc": "libmimalloc.so is not installed"})
    with pytest.raises(InputError) as caught:
        check_offers(experiment, offers)
    assert 'level "mimalloc" of factor "allocator"' in str(caught.value)
    assert "libmimalloc.so is not installed" in str(caught.value)
    assert "Levels here: glibc, jemalloc." in str(caught.value)
    assert "experiment.toml:8" in caught.value.where


def test_a_factor_that_is_not_here_is_refused_with_the_reason() -> None:
    offers = offer("turbo", reason="this machine has no cpufreq")
    with pytest.raises(InputError, match="this machine has no cpufreq"):
        check_offers(parse('[factors]\nturbo = "100%"'), offers)


def test_a_missing_level_that_nobody_asked_for_does_not_matter() -> None:
    offers = offer("allocator", "glibc", missing={"mimalloc": "not installed"})
    check_offers(parse('[factors]\nallocator = ["glibc"]'), offers)
    with pytest.raises(InputError, match="not installed"):
        check_offers(parse('[factors]\nallocator = ["mimalloc"]'), offers)


def test_what_is_asked_are_the_named_levels_and_the_ends_of_ranges_and_no_loads() -> None:
    experiment = parse(
        '[factors]\nallocator = ["glibc"]\ngovernor = "100%"\nbackground_load = ["none", "busy"]\n'
        '[nuisance]\nenv_padding = { randomise = "0..4096" }\n[[load]]\nname = "busy"\npath = "b"'
    )
    assert list(list_asked_levels(experiment)) == [
        ("allocator", "glibc"),
        ("background_load", "none"),
        ("env_padding", "0"),
        ("env_padding", "4096"),
    ]


def test_a_policy_leaves_alone_what_is_not_to_be_had() -> None:
    experiment = parse('[nuisance]\npolicy = "randomise"')
    offers = offer("link_order", "default", missing={"random": "no compiler"})
    offers |= offer("aslr", reason="personality is forbidden") | offer("env_padding", "0")
    check_offers(experiment, offers)
    kept = drop_unavailable_policy(experiment, offers)
    assert [choice.name for choice in kept.nuisance] == ["env_padding"]


def test_a_coverage_without_any_level_is_refused() -> None:
    with pytest.raises(InputError, match="no levels to choose from"):
        choose_factors(parse('[factors]\ngovernor = "100%"'))


def test_reasons_are_told_once() -> None:
    (only,) = offer("a", "x", missing={"y": "no root", "z": "no root", "w": "no disk"}).values()
    assert explain_unavailable(only) == "y, z: no root; w: no disk"


def test_a_compiler_that_a_host_does_not_list_is_refused_though_nobody_asked_it() -> None:
    """An offer of a fleet's machine has all of its compilers, and was made before the experiment."""
    offers = offer("compiler_version", "gcc-12", "clang-14")
    check_offers(parse('[factors]\ncompiler_version = ["gcc-12"]'), offers)
    with pytest.raises(InputError, match='level "gcc-13" of factor "compiler_version" does not exist here'):
        check_offers(parse('[factors]\ncompiler_version = ["gcc-12", "gcc-13"]'), offers)
