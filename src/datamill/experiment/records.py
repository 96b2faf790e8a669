"""The question, as frozen records: what is compared, over which factors, with which responses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["higher", "lower"]
BuildPolicy = Literal["fresh", "shared"]
Isolation = Literal["auto", "overlay", "user_namespace", "plain"]


@dataclass(frozen=True, slots=True)
class Package:
    """What is measured: its name in this experiment and the path as the file gives it."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Constraints:
    """Which machines may run the experiment; empty or zero means any."""

    arch: tuple[str, ...] = ()
    min_memory_bytes: int = 0
    min_cores: int = 0


@dataclass(frozen=True, slots=True)
class FactorChoice:
    """The wanted levels of one factor: named ones, or a share of all available ones.

    Exactly one of `levels` and `coverage` is set; `coverage` is a fraction from 0 to 1
    (ICPE 2013 section 3.2).
    """

    name: str
    levels: tuple[str, ...] = ()
    coverage: float | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """What is measured: `formula` over built-in responses and package metrics gives its value."""

    name: str
    unit: str
    formula: str
    direction: Direction


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one trial, in seconds and bytes."""

    setup_timeout_s: float = 1800.0
    run_timeout_s: float = 600.0
    collect_timeout_s: float = 120.0
    output_bytes: int = 1 << 20
    archive_bytes: int = 256 << 20
    package_bytes: int = 4 << 30
    package_files: int = 200_000
    world_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Experiment:
    """Question, factors, responses, replication and limits, fixed before data.

    `responses` are in file order; the first one answers the question. `confidence` is the
    level of every interval and `alpha` the level of every test.
    """

    name: str
    question: str
    replicates: int
    seed: int
    packages: tuple[Package, ...]
    constraints: Constraints
    factors: tuple[FactorChoice, ...]
    responses: tuple[Response, ...]
    limits: Limits
    build: BuildPolicy = "fresh"
    isolation: Isolation = "auto"
    baseline: str = ""
    confidence: float = 0.95
    alpha: float = 0.01
    interaction_order: int = 2
