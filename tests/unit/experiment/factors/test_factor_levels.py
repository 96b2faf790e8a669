"""Texts that are levels: patterns, ranges, and the catalogue that is made of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamill.experiment.factors.catalogue import FACTORS, USUAL_FACTORS
from datamill.experiment.levels import CpuList, FreeText, WholeNumber, read_range

PADDING = WholeNumber(6, 1 << 20, "bytes", zero=True)


@pytest.mark.parametrize(
    ("factor", "text", "level"),
    [
        ("niceness", "-20", "-20"),
        ("niceness", "007", "7"),
        ("niceness", "20", None),
        ("env_padding", "5", None),
        ("env_padding", "0", "0"),
        ("env_padding", "1KiB", "1024"),
        ("env_padding", "-1", None),
        ("stack_limit", "8MiB", "8388608"),
        ("stack_limit", "unlimited", "unlimited"),
        ("stack_limit", "8 elephants", None),
        ("link_order", "random", "random"),
        ("link_order", "random:7", "random:7"),
        ("link_order", "random:x", None),
        ("link_order", "Reverse", None),
        ("symbol_seed", "42", "42"),
        ("numa_policy", "bind:0", "bind:0"),
        ("numa_policy", "bind:", None),
        ("cpu_set", "3,0-1", "0-1,3"),
        ("cpu_set", "0,1,2", "0-2"),
        ("cpu_set", "2-1", None),
        ("cpu_set", "first", "first"),
        ("irq_affinity", "0-", None),
        ("governor", "performance", "performance"),
        ("governor", "two words", None),
        ("compiler_flags", " -march=native  -fno-inline ", "-march=native  -fno-inline"),
        ("compiler_flags", "-O2\n-g", None),
        ("compiler_flags", "", None),
        ("compiler_version", "gcc-12", "gcc-12"),
        ("compiler_version", "gcc-4.9", "gcc-4.9"),
        ("compiler_version", "gcc-12.2", None),
        ("compiler_version", "clang", None),
        ("swap", "512MiB", "536870912"),
        ("cpu_frequency", "2400000", "2400000"),
        ("turbo", "yes", None),
        ("warmups", "²", None),
    ],
)
def test_a_level_has_one_spelling_or_is_none(factor: str, text: str, level: str | None) -> None:
    assert FACTORS[factor].read_level(text) == level


@given(st.sets(st.integers(0, 200), min_size=1))
def test_a_processor_list_names_the_same_processors_in_its_one_spelling(processors: set[int]) -> None:
    given_text = ",".join(str(number) for number in processors)
    level = CpuList().read(given_text)
    assert level is not None
    named: set[int] = set()
    for part in level.split(","):
        low, _, high = part.partition("-")
        named.update(range(int(low), int(high or low) + 1))
    assert named == processors
    assert CpuList().read(level) == level


@given(st.integers(0, 5000), st.integers(0, 5000))
def test_a_range_holds_just_the_levels_between_its_ends(low: int, high: int) -> None:
    span = read_range(f"{low}..{high}", (PADDING,))
    expected = [n for n in range(low, high + 1) if n == 0 or n >= 6]
    if low > high or low in range(1, 6) or high in range(1, 6):
        assert span is None
        return
    assert span is not None
    assert [int(span.level(index)) for index in range(span.size)] == expected


def test_a_range_needs_a_factor_with_numbers() -> None:
    assert read_range("0..4", (FreeText("any"),)) is None
    assert read_range("0..4", (WholeNumber(0, 9, "", prefix="random:"),)) is None
    assert read_range("-3..4", (WholeNumber(-20, 19, ""),)).text == "-3..4"


def test_every_factor_says_what_it_is_what_it_takes_and_what_was_found() -> None:
    for name, factor in FACTORS.items():
        assert name == factor.name
        assert factor.summary, name
        assert factor.cost, name
        assert factor.found, name
        assert factor.levels or factor.others, name
        assert len(set(factor.levels)) == len(factor.levels), name
        assert factor.default in ("", *factor.levels), name
        assert set(factor.drawn) <= set(factor.levels), name
        # A figure of a paper has its place in it.
        assert factor.source or factor.found.startswith("no figure"), name


def test_the_policies_name_levels_of_the_catalogue() -> None:
    for name, treatments in USUAL_FACTORS.items():
        assert set(treatments) == {"fix", "vary", "randomise"}
        assert treatments["fix"] in (FACTORS[name].default, 0)
