"""What `datamill factors` makes of the coordinator's registry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from datamill.cli.fleet.registry import forbid, register_folder, show_fleet_factors
from datamill.cli.machine.factors import factors
from datamill.experiment.errors import InputError
from datamill.protocol.api.fleet.factors import FleetFactor, FleetFactorDetail, MachineLevels

ASLR = FleetFactor("aslr", "process", "layout", None, None, None, "It hides bugs.", {"on": 2, "off": 1})
OWN = FleetFactor("swappiness", "host", "how eagerly", "a" * 64, "ada", 1.0, None, {})
MACHINES = (
    MachineLevels("lab", "eve", ("on", "off"), "", True),
    MachineLevels("old", "eve", ("on",), "its owner forbids it", False),
)
DETAIL = FleetFactorDetail(
    "aslr", "process", "layout", None, None, None, None, {"on": 1, "off": 1}, MACHINES, ()
)


class PlayedCoordinator:
    """Answers as the coordinator does, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def get(self, path: str, _kind: Any) -> Any:
        self.asked.append(path)
        return [ASLR, OWN] if path == "/factors" else DETAIL

    def post(self, path: str, _kind: Any, body: Any = None) -> Any:
        self.asked.append((path, body))
        return DETAIL

    def upload(self, file: Path, _sha256: str, **told: str) -> None:
        self.asked.append((file.name, told))


def test_all_factors_are_listed_with_their_levels_and_whose_they_are(capsys) -> None:
    show_fleet_factors(PlayedCoordinator(), None, as_json=False)  # type: ignore[arg-type]
    printed = capsys.readouterr().out
    assert "on (2), off (1)" in printed
    assert "forbidden: It hides bugs." in printed
    assert "asked for in trials" in printed
    assert "2 factors, of which users registered 1." in " ".join(printed.split())


def test_one_factor_is_told_machine_by_machine(capsys) -> None:
    coordinator = PlayedCoordinator()
    show_fleet_factors(coordinator, "aslr", as_json=False)  # type: ignore[arg-type]
    printed = capsys.readouterr().out
    assert coordinator.asked == ["/factors/aslr"]
    assert "1 of 2 machines offer it" in printed
    assert "its owner forbids it" in printed
    show_fleet_factors(coordinator, "aslr", as_json=True)  # type: ignore[arg-type]
    assert json.loads(capsys.readouterr().out)["factor"]["machines"][0]["levels"] == ["on", "off"]


def test_a_folder_is_looked_into_packed_and_registered(capsys, tmp_path: Path) -> None:
    template = Path(__file__).parents[4] / "packages" / "factors" / "swappiness"
    coordinator = PlayedCoordinator()
    register_folder(coordinator, template, as_json=False)  # type: ignore[arg-type]
    (file, told), (path, body) = coordinator.asked
    assert (file, told["kind"], path) == ("swappiness.tar.gz", "factor", "/factors")
    assert body.sha256 in capsys.readouterr().out
    with pytest.raises(InputError, match="has no factor"):
        register_folder(coordinator, tmp_path, as_json=False)  # type: ignore[arg-type]
    assert len(coordinator.asked) == 2


def test_what_is_forbidden_is_said(capsys) -> None:
    coordinator = PlayedCoordinator()
    forbid(coordinator, "a/b", "why", as_json=False)  # type: ignore[arg-type]
    assert coordinator.asked[0][0] == "/factors/a%2Fb/forbid"
    assert "is forbidden in what is submitted from now on" in capsys.readouterr().out


def test_two_things_at_once_are_refused() -> None:
    refused = CliRunner().invoke(factors, ["--fleet", "--allow", "aslr"])
    assert refused.exit_code == 2
    assert "each stand alone" in refused.output
