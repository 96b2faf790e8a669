"""Each tool's verdict on base and head, by the rule that its users follow, and what it took."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from random import Random
from shutil import which
from statistics import fmean, stdev
from time import monotonic, perf_counter

from scipy.stats import mannwhitneyu, t

LEVEL = 0.05
_DATAMILL = str(Path(sys.executable).with_name("datamill"))
_CRITERION = Path(__file__).parent / "criterion"


@dataclass(frozen=True, slots=True)
class Case:
    """What a tool is given: the repository with base and head, and each built once."""

    repository: Path
    base: Path
    head: Path
    scratch: Path


@dataclass(frozen=True, slots=True)
class Verdict:
    """`word` is slower, faster or neither; `seconds` is how long the machine was in use."""

    word: str
    seconds: float


def ask_hyperfine(case: Case) -> Verdict:
    """Its summary: `1.05 ± 0.02 times faster`; apart where that interval leaves out 1."""
    file, began = case.scratch / "hyperfine.json", monotonic()
    _run(
        "hyperfine", "-N", "--warmup", "2", "--style", "none", "--export-json", str(file), str(case.base),
        str(case.head),
    )  # fmt: skip
    seconds = monotonic() - began
    base, head = json.loads(file.read_text())["results"]
    ratio = head["mean"] / base["mean"]
    spread = ratio * math.hypot(head["stddev"] / head["mean"], base["stddev"] / base["mean"])
    return Verdict(_name(ratio - 1, abs(ratio - 1) > spread), seconds)


def ask_pyperf(case: Case) -> Verdict:
    """`pyperf compare_to`: Student's test at 5%."""
    files, began = [case.scratch / f"pyperf-{name}.json" for name in ("base", "head")], monotonic()
    for file, program in zip(files, (case.base, case.head), strict=True):
        file.unlink(missing_ok=True)
        _run(sys.executable, "-m", "pyperf", "command", "--fast", "-q", "-o", str(file), "--", str(program))
    told = _run(sys.executable, "-m", "pyperf", "compare_to", *map(str, files))
    seconds = monotonic() - began
    word = "slower" if "slower" in told else "faster" if "faster" in told else "neither"
    return Verdict("neither" if "ot significant" in told else word, seconds)


def ask_benchstat(case: Case) -> Verdict:
    """Ten runs of each, one revision after the other, and Mann and Whitney's test at 5%."""
    began = monotonic()
    base, head = ([_time(program) for _ in range(10)] for program in (case.base, case.head))
    seconds = monotonic() - began
    p = float(mannwhitneyu(base, head, method="exact").pvalue)
    return Verdict(_name(_median(head) - _median(base), p < LEVEL), seconds)


def ask_bencher(case: Case) -> Verdict:
    """A t-test threshold: the new mean beyond the 97.5% quantile of those of ten earlier builds of base."""
    history = [fmean(_time(case.base) for _ in range(10)) for _ in range(10)]
    began = monotonic()
    new = fmean(_time(case.head) for _ in range(10))
    seconds = monotonic() - began
    reach = float(t.ppf(1 - LEVEL / 2, len(history) - 1)) * stdev(history)
    return Verdict(_name(new - fmean(history), abs(new - fmean(history)) > reach), seconds)


def ask_criterion(case: Case, binary: Path) -> Verdict:
    """What it prints of the change: a bootstrapped t-test at 5%, and an interval beyond 1%."""
    began = monotonic()
    home = case.scratch / "criterion"
    for program, baseline in ((case.base, "--save-baseline"), (case.head, "--baseline")):
        told = _run(
            str(binary), "--bench", baseline, "base", "--noplot", "--color", "never",
            settings={"GATES_PROGRAM": str(program), "CRITERION_HOME": str(home)},
        )  # fmt: skip
    seconds = monotonic() - began
    if "Performance has regressed" in told:
        return Verdict("slower", seconds)
    return Verdict("faster" if "Performance has improved" in told else "neither", seconds)


def ask_time(case: Case) -> Verdict:
    """`datamill time` with two programs, each built once."""
    began = monotonic()
    told = json.loads(
        _run(_DATAMILL, "time", "--json", "--within", "20s", "--out", str(case.scratch / "timing"),
             str(case.base), str(case.head))
    )  # fmt: skip
    return Verdict(_take(told["comparisons"][0]["verdict"]), monotonic() - began)


def ask_gate(case: Case) -> Verdict:
    """`datamill gate`, which builds base and head itself, in many layouts."""
    began = monotonic()
    told = json.loads(
        _run(_DATAMILL, "gate", "--json", "--base", "HEAD~1", "--build", "make", "--within", "40s",
             "--out", str(case.scratch / "gate"), "./prog", folder=case.repository)
    )  # fmt: skip
    return Verdict(_take(told["benchmarks"][0]["verdict"]), monotonic() - began)


def list_tools() -> dict[str, Callable[[Case], Verdict]]:
    """The tools that are here, by name; says which are not."""
    tools = {"benchstat's rule, ten runs": ask_benchstat, "Bencher's t-test": ask_bencher}
    if which("hyperfine"):
        tools["hyperfine, mean ± σ"] = ask_hyperfine
    else:
        print("hyperfine is not here and takes no part", file=sys.stderr)
    if find_spec("pyperf") is None:
        print("pyperf is not here and takes no part: pip install pyperf", file=sys.stderr)
    else:
        tools["pyperf compare_to"] = ask_pyperf
    if binary := _build_criterion():
        tools["criterion"] = lambda case: ask_criterion(case, binary)
    else:
        print("criterion cannot be built here and takes no part: it needs cargo", file=sys.stderr)
    return tools | {"datamill time": ask_time, "datamill gate": ask_gate}


def _build_criterion() -> Path | None:
    """The program in which criterion executes another one; None where it cannot be built."""
    if which("cargo") is None:
        return None
    target = Path(os.environ.get("CARGO_TARGET_DIR") or _CRITERION / "target").resolve()
    command = ("cargo", "build", "--quiet", "--release", "--locked", "--target-dir", str(target))
    if subprocess.run(command, cwd=_CRITERION, check=False).returncode != 0:
        return None
    return target / "release" / "gates-criterion"


def shuffle_tools(
    tools: dict[str, Callable[[Case], Verdict]], seed: str
) -> list[tuple[str, Callable[[Case], Verdict]]]:
    """The tools in a random order: drift of the machine meets all alike."""
    return Random(seed).sample(list(tools.items()), len(tools))


def _take(word: str) -> str:
    return word if word in ("slower", "faster") else "neither"


def _name(difference: float, told_apart: bool) -> str:
    if not told_apart:
        return "neither"
    return "slower" if difference > 0 else "faster"


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _time(program: Path) -> float:
    began = perf_counter()
    subprocess.run([program], check=True)
    return perf_counter() - began


def _run(*words: str, folder: Path | None = None, settings: dict[str, str] | None = None) -> str:
    environment = {**os.environ, **(settings or {})}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    # Exit status 1 is a verdict.
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(words)} ended with status {done.returncode}: {done.stderr}")
    return done.stdout
