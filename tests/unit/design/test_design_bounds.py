"""Designs over many factors, levels or points are made in little memory, or refused."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from datamill.design.points.aliases import is_comparable
from datamill.design.points.factorial import choose_factors
from datamill.design.points.points import choose_points, count_points
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.file.parse import parse_experiment


def ask(design: str, sizes: Sequence[int], packages: int = 1) -> Experiment:
    """An experiment over factors of its own with so many levels."""
    lines = ["[experiment]", 'name = "large"', design]
    for number in range(packages):
        lines += ["[[package]]", f'name = "p{number}"', 'path = "p"']
    lines += ["[[factor]]", 'path = "f"', "[factors]"]
    lines += [f"f{at} = {[f'l{level}' for level in range(size)]}" for at, size in enumerate(sizes)]
    return parse_experiment("\n".join(lines), name="e.toml")


@contextlib.contextmanager
def allowing(more_bytes: int) -> Iterator[None]:
    """Let this process take so much more memory; to trace what is allocated takes five times as long."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    taken_bytes = int(status["VmData"].split()[0]) << 10
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (taken_bytes + more_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def test_what_takes_more_memory_than_is_allowed_fails() -> None:
    with allowing(100 << 20), pytest.raises(MemoryError):
        bytearray(200 << 20)


@pytest.mark.parametrize(
    ("sizes", "most_points"),
    [
        # Comparing all pairs of interactions took 1.2 GB and 13 s.
        ([2] * 300, 30),
        # The model matrix of all interactions took more than 5 GB.
        ([30] * 14, 2000),
    ],
)
def test_a_covering_design_takes_little_memory(sizes: list[int], most_points: int) -> None:
    experiment = ask('design = "covering"', sizes)
    factors = choose_factors(experiment)
    with allowing(100 << 20):
        chosen = choose_points(experiment, factors)
    assert len(chosen.points) <= most_points
    assert chosen.aliases == (
        "What cannot be told apart was not worked out: there are too many points, factors or levels.",
    )


@pytest.mark.parametrize("sizes", [[2] * 40, [3] * 14, [5] * 6])
def test_designs_that_are_read_term_by_term_are_compared(sizes: list[int]) -> None:
    assert is_comparable(200, sizes)


@pytest.mark.parametrize(
    ("design", "sizes", "message"),
    [
        # Counting the parameters went through all sets of ten factors.
        ('design = "d-optimal"\nmax_points = 1000000\ninteraction_order = 10', [2] * 60, "needs at least"),
        ('design = "d-optimal"\nmax_points = 1000000\ninteraction_order = 1', [2] * 21, "too many to choose"),
        ('design = "covering"', [1500, 1500], "combinations of 2 factors"),
        ('design = "covering"\nstrength = 6', [4] * 20, "combinations of 6 factors"),
        ('design = "fractional"\nresolution = 8', [2] * 60, "more than 4096 points"),
        ('design = "fractional"\nresolution = 3', [2] * 1000, "more than a fraction here takes"),
    ],
)
def test_a_search_without_end_is_refused(design: str, sizes: list[int], message: str) -> None:
    experiment = ask(design, sizes)
    with pytest.raises(InputError, match=message) as refused:
        choose_points(experiment, choose_factors(experiment))
    assert refused.value.remedy


@pytest.mark.parametrize(
    "design",
    ["", 'design = "covering"', 'design = "fractional"', 'design = "screening"',
     'design = "d-optimal"\nmax_points = 24\ninteraction_order = 1'],
)  # fmt: skip
@pytest.mark.parametrize("packages", [1, 2])
def test_points_are_counted_as_they_are_chosen(design: str, packages: int) -> None:
    experiment = ask(design, [2, 2, 2, 2, 2], packages)
    factors = choose_factors(experiment)
    assert count_points(experiment, factors) == len(choose_points(experiment, factors).points)


@pytest.mark.parametrize("kind", ["covering", "fractional"])
def test_counting_refuses_what_choosing_refuses(kind: str) -> None:
    experiment = ask(f'design = "{kind}"', [1])
    with pytest.raises(InputError, match="no factor with two"):
        count_points(experiment, choose_factors(experiment))
