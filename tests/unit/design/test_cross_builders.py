"""Who builds for machines of another architecture: the strongest that can, or the reason why nobody."""

from __future__ import annotations

from typing import Any

import pytest

from datamill.design.fleet.fleet_plan import plan_fleet
from datamill.design.fleet.fleet_records import Candidate
from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.offers import FactorOffer

HEAD = '[experiment]\nname = "weak"\nreplicates = 2\nbuild = "shared"\n[[package]]\nname = "a"\npath = "a"\n'
CROSS = HEAD + '[constraints]\narch = ["aarch64"]\n[fleet]\nbuild_on = "cross"\n'


def make_worker(name: str, arch: str, cores: int, **changes: Any) -> Candidate:
    usual: dict[str, Any] = {
        "worker_id": f"w-{name}",
        "name": name,
        "hardware": {"arch": arch, "machine": name},
        "offers": {},
        "memory_bytes": 8 << 30,
        "cores": cores,
    }
    return Candidate(**(usual | changes))


def levels(*names: str) -> dict[str, FactorOffer]:
    return {"compiler_version": FactorOffer("compiler_version", "build", names)}


BOARD = make_worker("board", "aarch64", 1, offers=levels())
SMALL = make_worker("small", "x86_64", 4, cross={"aarch64": "gcc-11"}, offers=levels("gcc-11"))
LARGE = make_worker("large", "x86_64", 16, cross={"aarch64": "gcc-12"}, offers=levels("gcc-13", "gcc-12"))


def test_the_strongest_with_compilers_builds_although_it_does_not_measure() -> None:
    found = plan_fleet(parse_experiment(CROSS, name="e.toml"), [BOARD, SMALL, LARGE])
    assert [item.name for item in found.chosen] == ["board"]
    assert {arch: item.name for arch, item in found.builders.items()} == {"aarch64": "large"}


def test_the_strongest_machine_of_all_builds_for_its_own_architecture() -> None:
    text = CROSS.replace("aarch64", "x86_64")
    found = plan_fleet(parse_experiment(text, name="e.toml"), [BOARD, LARGE])
    assert {arch: item.name for arch, item in found.builders.items()} == {"x86_64": "large"}


def test_nobody_who_can_build_is_said_before_submission() -> None:
    plain = make_worker("plain", "x86_64", 8, cross={"riscv64": "gcc-12"})
    with pytest.raises(InputError, match="no machine of the fleet can cross build for aarch64") as refused:
        plan_fleet(parse_experiment(CROSS, name="e.toml"), [BOARD, plain])
    assert "board" in str(refused.value)
    assert "riscv64" in refused.value.remedy


def test_levels_of_the_compiler_are_those_of_the_machine_that_builds() -> None:
    factors = '[factors]\ncompiler_version = ["gcc-12"]\n'
    found = plan_fleet(parse_experiment(CROSS + factors, name="e.toml"), [BOARD, LARGE])
    assert {trial.levels["compiler_version"] for trial in found.design.trials} == {"gcc-12"}
    with pytest.raises(InputError) as refused:
        plan_fleet(parse_experiment(CROSS + factors.replace("12", "13"), name="e.toml"), [BOARD, LARGE])
    assert 'the level "gcc-13"' in refused.value.remedy


@pytest.mark.parametrize(
    ("old", "new"), [('build = "shared"', 'isolation = "guest"'), ("[fleet]", '[fleet]\ndebug = "only"')]
)
def test_what_does_not_go_with_builds_elsewhere_is_refused(old: str, new: str) -> None:
    with pytest.raises(InputError, match="cross"):
        plan_fleet(parse_experiment(CROSS.replace(old, new), name="e.toml"), [BOARD, LARGE])
