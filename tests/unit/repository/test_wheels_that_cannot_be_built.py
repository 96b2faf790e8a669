"""`make wheel` says why an architecture is left out, and what helps."""

from __future__ import annotations

import importlib.util
import platform
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[3] / "wheels" / "build"
TRIPLE = "aarch64-unknown-linux-gnu"


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, on a machine of another architecture than aarch64."""
    loader = SourceFileLoader("build_wheels", str(SCRIPT))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
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
