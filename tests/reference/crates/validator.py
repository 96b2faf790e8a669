"""The reference validator of RO-Crates, a program in an environment of its own: `make check` installs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

#: Where `make check` puts it: it wants an older rich than ours.
BIN = Path(sys.prefix) / "validator" / "bin"
#: What crates leave of all that the profile recommends, and why.
SOFTWARE_HAS_NO_ADDRESS = {"Application url", "SoftwareApplication id"}
#: The same where nobody has named an organisation.
NO_ORGANISATION = {
    "Root Data Entity: `publisher` property",
    "CreativeWork Author: RECOMMENDED affiliation property",
    "CreativeWork Author: RECOMMENDED Contextual Entity linked for the organizational `affiliation` property",
}


@dataclass(frozen=True, slots=True)
class Validated:
    """What the validator says of a crate: names of checks that it fails, by how much they matter."""

    missing: frozenset[str]
    not_followed: frozenset[str]
    told: str


def validate_crate(crate: Path, folder: Path) -> Validated:
    """Have a crate validated by all that its profile requires and recommends, RO-Crate 1.1 included.

    Skipped without the validator. Nothing is left out: a check that could not be made fails the test.
    """
    program = shutil.which("rocrate-validator", path=f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}")
    if program is None:
        pytest.skip("rocrate-validator is not installed: make check installs it")
    script = Path(__file__).with_name("ask_validator.py")
    ended = subprocess.run(
        [Path(program).with_name("python"), script, folder / "contexts", crate],
        env=os.environ | {"HOME": str(folder), "XDG_CACHE_HOME": str(folder), "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads(ended.stdout)
    assert found["skipped"] == []
    names: dict[str, set[str]] = {"REQUIRED": set(), "RECOMMENDED": set()}
    for issue in found["issues"]:
        names[issue["severity"]].add(issue["check"])
    told = "\n".join(" ".join(map(str, issue.values())) for issue in found["issues"])
    return Validated(frozenset(names["REQUIRED"]), frozenset(names["RECOMMENDED"]), told)
