"""Whether R and its packages are here: asked when a test runs, so that collecting tests starts no R."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

import pytest


@cache
def find_missing(*packages: str) -> str:
    """Return what is missing, with Debian's names, empty when all is here."""
    debian = ", ".join(f"r-cran-{package}" for package in packages) or "r-base-core"
    if shutil.which("Rscript") is None:
        return f"Rscript is not installed (Debian: {debian})"
    script = "; ".join(f"library({package})" for package in packages) or "0"
    asked = subprocess.run(["Rscript", "--vanilla", "-e", script], capture_output=True, check=False)
    return f"R lacks {', '.join(packages)} (Debian: {debian})" if asked.returncode else ""


def require_r(*packages: str) -> None:
    """Skip the test, with the reason, where R or one of its packages is missing."""
    if missing := find_missing(*packages):
        pytest.skip(missing)
