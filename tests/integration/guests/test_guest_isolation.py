"""Experiments whose trials run in guests: `isolation = "guest"`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from integration.hostile.packages.guest_trials import GuestHost, make_guest_host

from datamill.cli.main import main
from datamill.guests import GuestUnavailableError
from datamill.guests.emulator import find_emulator
from datamill.results.bundles.opening import open_bundle

EXPERIMENT = """
[experiment]
name = "guests"
question = "does it work in a guest"
replicates = 1
isolation = "guest"
build = "shared"
[[package]]
name = "p"
path = "p"
[factors]
{factors}
[responses.seconds]
formula = "wall_time_s"
unit = "s"
direction = "lower"
"""


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> GuestHost:
    try:
        find_emulator(os.uname().machine)
        return make_guest_host(tmp_path_factory.mktemp("guests") / "state", "")
    except GuestUnavailableError as error:
        pytest.skip(f"no guests here: {error}")


def write_experiment(folder: Path, factors: str) -> Path:
    """Write an experiment whose package has no `collect.sh`; its one response is built in."""
    package = folder / "p"
    package.mkdir()
    scripts = {
        "setup.sh": "#!/bin/sh\ndate +%s%N >built\n",
        "run.sh": "#!/bin/sh\ncat built; cat /sys/kernel/mm/transparent_hugepage/enabled\n",
    }
    for name, script in scripts.items():
        (package / name).write_text(script)
        (package / name).chmod(0o755)
    path = folder / "experiment.toml"
    path.write_text(EXPERIMENT.format(factors=factors))
    return path


def run_verb(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code


# Four boots: the look at what guests offer, the build, two trials.
def test_trials_in_guests_share_a_build_and_set_the_guests_own_kernel(
    guests: GuestHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATAMILL_STATE_DIR", str(guests.state))
    path = write_experiment(tmp_path, 'transparent_huge_pages = ["always", "never"]')
    own = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    before = own.read_text() if own.exists() else ""
    assert run_verb("run", str(path), "--out", str(tmp_path / "bundle")) == 0
    bundle = open_bundle(tmp_path / "bundle")
    records = bundle.read_records()
    assert len(records) == 2
    assert [record.outcome for record in records] == ["completed"] * 2, records[0].failure
    assert {record.isolation.kind for record in records} == {"guest"}
    assert len({record.build.id for record in records if record.build is not None}) == 1
    said = [(bundle.artifacts / f"{record.trial_id}.1" / "run.out").read_text() for record in records]
    assert len({text.splitlines()[0] for text in said}) == 1, "both measured one build"
    assert {fact.observed for record in records for fact in record.factors} == {"always", "never"}
    assert (own.read_text() if own.exists() else "") == before


def test_what_no_guest_has_is_refused_by_check(
    guests: GuestHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATAMILL_STATE_DIR", str(guests.state))
    path = write_experiment(tmp_path, 'optimization = ["-O2", "-O3"]')
    assert run_verb("check", str(path)) == 2
    assert "no compiler is installed" in capsys.readouterr().err


def test_a_machine_without_an_image_says_how_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        find_emulator(os.uname().machine)
    except GuestUnavailableError as error:
        pytest.skip(f"no guests here: {error}")
    monkeypatch.setenv("DATAMILL_STATE_DIR", str(tmp_path))
    path = write_experiment(tmp_path, 'aslr = ["on", "off"]')
    assert run_verb("check", str(path)) == 2
    assert "datamill worker guest-image" in capsys.readouterr().err
