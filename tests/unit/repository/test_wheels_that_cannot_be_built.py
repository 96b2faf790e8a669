"""`make wheel` and its check say why something of another architecture is left out, and what helps."""

from __future__ import annotations

import importlib.util
import platform
import zipfile
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[3] / "wheels" / "build"
WHEEL = "datamill-0.1.0-cp311-abi3-manylinux2014_aarch64.manylinux_2_17_aarch64.whl"
TRIPLE = "aarch64-unknown-linux-gnu"


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, on a machine of another architecture than aarch64."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return load("build")


def load(name: str) -> ModuleType:
    loader = SourceFileLoader(f"{name}_wheels", str(SCRIPT.with_name(name)))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def put(path: Path, script: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_each_missing_part_is_named_with_its_remedy(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    monkeypatch.setenv("PATH", str(programs))
    assert "https://rustup.rs" in build.find_obstacle("aarch64")
    put(programs / "cargo")
    put(programs / "rustc", f"echo {tmp_path}")
    assert f"rustup target add {TRIPLE}" in build.find_obstacle("aarch64")
    put(tmp_path / "lib" / "rustlib" / TRIPLE / "lib" / "libstd-1.rlib")
    assert "apt-get install gcc-aarch64-linux-gnu" in build.find_obstacle("aarch64")
    put(programs / "aarch64-linux-gnu-gcc", "echo libc.a")
    assert "apt-get install libc6-dev-arm64-cross" in build.find_obstacle("aarch64")
    put(programs / "aarch64-linux-gnu-gcc", f"echo {SCRIPT}")
    assert build.find_obstacle("aarch64") == ""


def test_a_wheel_of_another_architecture_is_started_where_there_is_an_emulator(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = load("check")
    monkeypatch.setattr(check, "audit", lambda _wheel, _root: None)
    wheel = tmp_path / WHEEL
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("datamill-0.1.0.data/scripts/datamill-worker", "")
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}")
    check.check_foreign(wheel, tmp_path / "one", None)
    assert "apt-get install qemu-user-static" in capsys.readouterr().out
    put(programs / "qemu-aarch64-static", """echo "$2" 'datamill-worker 0.1.0 "arch": "aarch64"'""")
    check.check_foreign(wheel, tmp_path / "two", None)
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in told[1:]] == ["ok", "ok", "skip"]
    assert told[-1].endswith("--sysroot DIR")
    put(programs / "qemu-aarch64-static", "echo of another version")
    with pytest.raises(SystemExit, match="FAILED the worker starts"):
        check.check_foreign(wheel, tmp_path / "three", None)
