"""Packages that base and head share, because they are installed from the user's own folder."""

import json
from pathlib import Path

import pytest

from datamill.conduct.gate.editable_installs import list_editable_installs
from datamill.experiment.gate.gate import Benchmark


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment with Python, a script of a package, another program, and a package of a repository."""
    place = tmp_path / "environment"
    programs = {"python3": "", "tool": f"#!{place}/bin/python3\n", "prog": "#!/bin/sh\n"}
    (place / "bin").mkdir(parents=True)
    for name, text in programs.items():
        (place / "bin" / name).write_text(text)
        (place / "bin" / name).chmod(0o755)
    about = place / "lib" / "python3.11" / "site-packages" / "mylib-1.0.dist-info" / "direct_url.json"
    about.parent.mkdir(parents=True)
    top = (tmp_path / "repository").as_uri()
    about.write_text(json.dumps({"url": top, "dir_info": {"editable": True}}))
    monkeypatch.setenv("PATH", str(place / "bin"))
    return place


def is_told(folder: Path, command: str, package: str = "mylib") -> bool:
    """Whether a caution is given where both checkouts have the package in this place."""
    checkouts = [folder / "a", folder / "b"]
    for checkout in checkouts:
        (checkout / package).mkdir(parents=True, exist_ok=True)
    told = list_editable_installs([Benchmark("it", command)], folder / "repository", checkouts)
    assert all(sentence.startswith("mylib is installed in editable form") for sentence in told)
    return bool(told)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    "command",
    ["python3 bench/run.py", "tool", "FAST=1 tool", "FAST=1 python3 bench/run.py", "python3 -I -m bench"],
)
def test_a_package_that_is_found_in_the_environment_is_told(tmp_path: Path, command: str) -> None:
    assert is_told(tmp_path, command)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    "command",
    ["prog", "python3 -m bench", "python3 -X dev -m bench", "FAST=1 python3 bench.py", "PYTHONPATH=. tool"],
)
def test_what_is_not_python_or_finds_the_package_in_the_checkout_is_not_told(
    tmp_path: Path, command: str
) -> None:
    assert not is_told(tmp_path, command)


@pytest.mark.usefixtures("environment")
def test_a_package_below_src_is_found_in_the_environment_unless_a_path_leads_there(tmp_path: Path) -> None:
    assert is_told(tmp_path, "python3 -m bench", "src/mylib")
    assert not is_told(tmp_path, "PYTHONPATH=$PWD/src python3 -m bench", "src/mylib")


def test_modules_of_another_name_than_their_package_are_looked_for(tmp_path: Path, environment: Path) -> None:
    (about,) = environment.glob("lib/*/*/*.dist-info")
    (about / "top_level.txt").write_text("other\n")
    assert is_told(tmp_path, "python3 -m bench")
    assert not is_told(tmp_path, "python3 -m bench", "other")
