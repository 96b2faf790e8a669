"""The fewest workers against GLPK, the solver that the published system used (ICPE 2013 section 4.1)."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from datamill.design.fleet.worker_choice import choose_workers

GLPSOL = shutil.which("glpsol")
needs_glpk = pytest.mark.skipif(GLPSOL is None, reason="glpsol (Debian: glpk-utils) is not installed")


def write_lp(levels: np.ndarray, needed: list[int]) -> str:
    """Equations 1a to 1f as a CPLEX LP file, written independently of the package."""
    count, dimensions = levels.shape
    lines = ["Minimize", " w: " + " + ".join(f"x{i}" for i in range(count)), "Subject To"]
    names = []
    for k in range(dimensions):
        own = sorted(set(levels[:, k]))
        for level in own:
            having = [i for i in range(count) if levels[i, k] == level]
            lines.append(" " + " + ".join(f"x{i}" for i in having) + f" - l{k}_{level} >= 0")
            lines += [f" l{k}_{level} - x{i} >= 0" for i in having]
            names.append(f"l{k}_{level}")
        lines.append(" " + " + ".join(f"l{k}_{level}" for level in own) + f" >= {needed[k]}")
    return "\n".join([*lines, "Binary", *(f" x{i}" for i in range(count)), *(f" {n}" for n in names), "End"])


def solve_with_glpk(levels: np.ndarray, needed: list[int], folder: Path) -> int:
    (folder / "program.lp").write_text(write_lp(levels, needed))
    done = subprocess.run(
        [str(GLPSOL), "--lp", str(folder / "program.lp"), "-o", str(folder / "solution.txt")],
        capture_output=True,
        text=True,
        check=True,
    )
    solution = (folder / "solution.txt").read_text()
    assert "INTEGER OPTIMAL" in solution, done.stdout
    found = re.search(r"Objective:\s+w = (\d+)", solution)
    assert found is not None
    return int(found[1])


@needs_glpk
@pytest.mark.parametrize("seed", range(8))
def test_glpk_finds_no_fewer_workers(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    # Levels as they are in fleets: a few that most machines have, and rare ones.
    levels = np.minimum(rng.geometric(0.55, (40, 5)) - 1, 4)
    counts = [np.unique(levels[:, k]).size for k in range(5)]
    needed = [int(rng.integers(1, count + 1)) for count in counts]
    chosen = choose_workers(levels, needed, np.zeros(40))
    assert len(chosen) == solve_with_glpk(levels, needed, tmp_path)
