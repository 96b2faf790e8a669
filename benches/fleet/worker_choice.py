"""Choosing the fewest workers that give a coverage: ours, HiGHS on the program as published, and GLPK.

Fleets of 40 hardware levels in eight dimensions, all of which are to be covered. GLPK (Debian: glpk-utils) is
what the published system used. Times are of the processor, so that other work on the machine hardly counts.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from markdown import describe_machine, format_table
from reference.designs.test_worker_choice_against_glpk import write_lp

from datamill.design.fleet.worker_choice import choose_workers, write_program
from datamill.design.trials import build_design
from datamill.experiment.file.parse import parse_experiment

TARGET_S = 1.0
#: Seconds after which a peer is stopped.
MOST_S = 20
SIZES = (4, 5, 5, 5, 5, 5, 5, 6)
EXPERIMENT = """
[experiment]
name = "large"
replicates = 5000
[[package]]
name = "a"
path = "a"
[[package]]
name = "b"
path = "b"
[factors]
aslr = ["on", "off"]
optimization = "100%"
[nuisance]
env_padding = { randomise = "0..4096" }
"""


def draw_modelled(rng: np.random.Generator, workers: int) -> np.ndarray:
    """Machines of 200 models, which fix four of the dimensions; some models are far more frequent."""
    models = np.stack([rng.integers(0, size, 200) for size in SIZES[:4]], axis=1)
    of = np.minimum(rng.geometric(0.02, workers) - 1, 199)
    free = np.stack([rng.integers(0, size, workers) for size in SIZES[4:]], axis=1)
    return np.hstack([models[of], free])


def draw_even(rng: np.random.Generator, workers: int) -> np.ndarray:
    """Every level of a dimension is as frequent, in any company."""
    return np.stack([rng.integers(0, size, workers) for size in SIZES], axis=1)


def draw_rare(rng: np.random.Generator, workers: int) -> np.ndarray:
    """In each dimension one level that most have, and rare ones."""
    return np.stack([np.minimum(rng.geometric(0.75, workers) - 1, size - 1) for size in SIZES], axis=1)


FLEETS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "200 models": draw_modelled,
    "even levels": draw_even,
    "rare levels": draw_rare,
}


def solve_as_published(levels: np.ndarray, needed: list[int]) -> int | None:
    """Equations 1a to 1f over all workers, by HiGHS; None when time was up."""
    columns, dimension = [], []
    for k in range(levels.shape[1]):
        for level in np.unique(levels[:, k]):
            columns.append(levels[:, k] == level)
            dimension.append(k)
    program = write_program(np.stack(columns, axis=1), np.array(dimension), np.array(needed))
    solved = milp(
        program.costs,
        integrality=np.ones(program.costs.size),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(program.matrix, program.lower, np.inf),
        options={"time_limit": MOST_S},
    )
    return round(solved.fun) if solved.status == 0 else None


def solve_by_glpk(
    glpsol: str, levels: np.ndarray, needed: list[int], folder: Path
) -> tuple[float, int | None]:
    """The same by GLPK, and its time with the reading of its file."""
    (folder / "program.lp").write_text(write_lp(levels, needed))
    start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(
        [glpsol, "--lp", str(folder / "program.lp"), "--tmlim", str(MOST_S), "-o", str(folder / "out.txt")],
        check=True,
        capture_output=True,
    )
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - start
    solution = (folder / "out.txt").read_text()
    if "INTEGER OPTIMAL" not in solution:
        return seconds, None
    line = next(line for line in solution.splitlines() if line.startswith("Objective:"))
    return seconds, int(line.split("=")[1].split()[0])


def spell(times: list[float | None], ours: float) -> str:
    """The median time and its ratio to ours; what was stopped counts as longer than any."""
    known = [value for value in times if value is not None]
    if len(known) * 2 <= len(times):
        return f"over {MOST_S} s"
    median = statistics.median([*known, *[float("inf")] * (len(times) - len(known))])
    return f"{median:.3g} s ({median / ours:.3g})"


def main() -> None:
    """Solve the same instances by each, and print medians and ratios of medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="*", default=[100, 1000, 10_000])
    parser.add_argument("--no-design", action="store_true", help="Leave out planning a million trials.")
    options = parser.parse_args()
    glpsol = shutil.which("glpsol")
    rows, met = [], True
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as folder:
        for workers in options.workers:
            for name, draw in FLEETS.items():
                times: dict[str, list[float | None]] = {"ours": [], "earliest": [], "HiGHS": [], "GLPK": []}
                chosen = []
                for seed in range(options.instances):
                    rng = np.random.default_rng(seed)
                    levels = draw(rng, workers)
                    needed = [int(np.unique(levels[:, k]).size) for k in range(levels.shape[1])]
                    start = time.process_time()
                    found = len(choose_workers(levels, needed, np.zeros(workers), seed=seed))
                    times["ours"].append(time.process_time() - start)
                    chosen.append(found)
                    busy = rng.exponential(3600.0, workers)
                    start = time.process_time()
                    choose_workers(levels, needed, busy, seed=seed)
                    times["earliest"].append(time.process_time() - start)
                    start = time.process_time()
                    published = solve_as_published(levels, needed)
                    seconds = time.process_time() - start
                    times["HiGHS"].append(None if published is None else seconds)
                    assert published in (None, found), (published, found)
                    if glpsol is not None:
                        seconds, by_glpk = solve_by_glpk(glpsol, levels, needed, Path(folder))
                        times["GLPK"].append(None if by_glpk is None else seconds)
                        assert by_glpk in (None, found), (by_glpk, found)
                ours = statistics.median(value for value in times["ours"] if value is not None)
                met &= ours < TARGET_S
                rows.append(
                    [
                        f"{workers:,}",
                        name,
                        ", ".join(map(str, chosen)),
                        f"{ours:.3g} s",
                        spell(times["earliest"], ours),
                        spell(times["HiGHS"], ours),
                        spell(times["GLPK"], ours) if glpsol is not None else "not installed",
                    ]
                )
    header = ["workers", "fleet", "fewest", "ours", "and the earliest of them", "HiGHS, as published", "GLPK"]
    print(f"{describe_machine()}\n")
    print(format_table(header, rows))
    print(f"\nTarget: the fewest workers in under {TARGET_S:g} s: {'met' if met else 'missed'}.")
    if not options.no_design:
        experiment = parse_experiment(EXPERIMENT, name="large.toml")
        start = time.process_time()
        design = build_design(experiment, machines=[f"m{number}" for number in range(10)])
        seconds = time.process_time() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"\nPlanning {len(design.trials):,} trials over ten machines: {seconds:.1f} s; most memory of "
            f"the process so far: {memory:.0f} MiB. Target: under 10 s and 2048 MiB."
        )


if __name__ == "__main__":
    main()
