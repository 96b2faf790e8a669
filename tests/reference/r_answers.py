"""What R answers to the tests' questions: frozen in files beside the tests, or asked of R itself.

Ordinarily the answers come from `tests/reference/frozen`, and R need not be there. `pytest --live-r` asks R
as well and fails where a frozen answer has become another; `pytest --freeze-r` writes the files.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

FROZEN = Path(__file__).with_name("frozen")

#: Relative and absolute distance up to which two numbers of R are the same: with other processors and another
#: BLAS it gives other last digits.
TOLERANCE, LEAST = 1e-6, 1e-12

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w)")


def ask_r(
    script: str,
    *arguments: str,
    text: str = "",
    packages: tuple[str, ...] = (),
    tolerance: float = TOLERANCE,
) -> str:
    """Return what R prints when it runs `script` with `arguments` and `text` as its standard input.

    A question must be the same at each time and place: no paths, no clock, no numbers that our code made.
    `tolerance`: for answers of R that are rough themselves, the relative distance from the frozen one.
    """
    return _source.answer(script, arguments, text, packages, tolerance)


def digest_question(script: str, arguments: tuple[str, ...], text: str) -> str:
    """Return ten digits that stand for a question.

    Neither indentation counts nor what comes after nine digits of a number, where libraries differ.
    """
    lines = [line.strip() for line in script.strip().splitlines()]
    spelt = json.dumps([_round_numbers(part) for part in ("\n".join(lines), *arguments, text)])
    return hashlib.sha256(spelt.encode()).hexdigest()[:10]


def find_difference(frozen: str, live: str, tolerance: float = TOLERANCE) -> str:
    """Return where two answers part, empty where they are the same within the tolerance."""
    if _NUMBER.sub("#", frozen).split() != _NUMBER.sub("#", live).split():
        return f"frozen: {frozen[:200]!r}, from R: {live[:200]!r}"
    pairs = zip(_NUMBER.findall(frozen), _NUMBER.findall(live), strict=True)
    for place, (old, new) in enumerate(pairs, start=1):
        if not math.isclose(float(old), float(new), rel_tol=tolerance, abs_tol=LEAST):
            return f"number {place} is {old} there and {new} from R"
    return ""


def _round_numbers(text: str) -> str:
    def round_number(found: re.Match[str]) -> str:
        spelt = found[0]
        return spelt if spelt.lstrip("+-").isdigit() else f"{float(spelt):.9g}"

    return _NUMBER.sub(round_number, text)


def find_missing(*packages: str) -> str:
    """Return what of R is missing, with Debian's names, empty when all is here."""
    debian = ", ".join(("r-base-core", *(f"r-cran-{package}" for package in packages)))
    if (program := shutil.which("Rscript")) is None:
        return f"Rscript is not installed (Debian: {debian})"
    missing = _find_missing_packages(program, packages)
    return f"R lacks {', '.join(missing)} (Debian: {debian})" if missing else ""


@cache
def _find_missing_packages(program: str, packages: tuple[str, ...]) -> list[str]:
    """Return those of some packages that are not installed; to load each would take seconds."""
    if not packages:
        return []
    script = "for (p in commandArgs(TRUE)) if (!nzchar(system.file(package = p))) cat(p, '')"
    asked = [program, "--vanilla", "-e", script, *packages]
    return subprocess.run(asked, capture_output=True, check=True, text=True).stdout.split()


def run_r(script: str, arguments: tuple[str, ...], text: str) -> str:
    """Run a script and return what it prints; what goes wrong there fails the test, in R's words."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "question.R")
        file.write_text(script)
        done = subprocess.run(
            ["Rscript", "--vanilla", str(file), *arguments],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    if done.returncode:
        pytest.fail(f"R ended with status {done.returncode}:\n{done.stderr}")
    return done.stdout


def asks_r(module: str) -> bool:
    """Return whether a module of tests asks R: its answers are frozen."""
    return (FROZEN / module.removeprefix("test_")).is_dir()


def name_versions(packages: tuple[str, ...]) -> str:
    """Return the version of R and of its packages."""
    script = "cat(R.version.string); for (p in commandArgs(TRUE)) cat(',', p, format(packageVersion(p)))"
    return run_r(script, packages, "").strip()


class Source:
    """Where answers come from in this run, and which were asked for: `folder/MODULE/DIGEST.txt`."""

    def __init__(self, folder: Path = FROZEN, *, live: bool = False, freeze: bool = False) -> None:
        self.folder, self.live, self.freeze = folder, live, freeze
        self.asked: set[Path] = set()
        self.written: set[Path] = set()
        #: Modules of which some test did not run.
        self.incomplete: set[str] = set()

    def answer(
        self,
        script: str,
        arguments: tuple[str, ...],
        text: str,
        packages: tuple[str, ...],
        tolerance: float = TOLERANCE,
    ) -> str:
        """Return an answer; fail the test where the frozen one is missing or no longer what R says."""
        module = os.environ["PYTEST_CURRENT_TEST"].partition("::")[0]
        digest = digest_question(script, arguments, text)
        file = self.folder / Path(module).stem.removeprefix("test_") / f"{digest}.txt"
        self.asked.add(file)
        frozen = file.read_text().partition("\n")[2] if file.is_file() else None
        how = f"`pytest {module} --freeze-r`"
        if not self.live and not self.freeze:
            if frozen is None:
                pytest.fail(
                    f"R's answer to this question is not frozen ({file}): its script, arguments or data are "
                    f"new or have changed. Freeze it where R is installed: {how}"
                )
            return frozen
        if missing := find_missing(*packages):
            (pytest.fail if self.freeze else pytest.skip)(missing)
        live = run_r(script, arguments, text)
        differs = "there is no frozen answer" if frozen is None else find_difference(frozen, live, tolerance)
        if differs and self.freeze:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"# {name_versions(packages)}\n{live}")
            self.written.add(file)
        elif differs:
            pytest.fail(
                f"R no longer gives the frozen answer in {file}: {differs}. "
                f"If R is right, freeze it anew: {how}"
            )
        return live

    def remove_unasked(self, modules: set[str], existing: set[str]) -> list[Path]:
        """Remove the files that no test of `modules` asked for, and those of modules that no longer exist."""
        removed = []
        for file in sorted(self.folder.glob("*/*.txt")):
            module = f"test_{file.parent.name}"
            if file not in self.asked and (module in modules or module not in existing):
                file.unlink()
                removed.append(file)
        for folder in self.folder.glob("*/"):
            if not any(folder.iterdir()):
                folder.rmdir()
        return removed


_source = Source()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what asks R itself."""
    parser.addoption("--live-r", action="store_true", help="ask R itself, and compare with what is frozen")
    parser.addoption("--freeze-r", action="store_true", help="write R's answers where they changed")


def pytest_configure(config: pytest.Config) -> None:
    """Choose where answers come from."""
    global _source
    _source = Source(live=config.getoption("--live-r"), freeze=config.getoption("--freeze-r"))


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Note that not all tests of a module run."""
    _source.incomplete.update(item.path.stem for item in items)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note that a test was skipped, perhaps before its questions."""
    if report.skipped:
        _source.incomplete.add(Path(report.nodeid.partition("::")[0]).stem)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remove what is frozen and no test asked for, of modules all of whose tests passed in this process."""
    config = session.config
    alone = not hasattr(config, "workerinput") and not config.getoption("numprocesses", None)
    whole = exitstatus == pytest.ExitCode.OK and not any("::" in argument for argument in config.args)
    if not (_source.freeze and alone and whole):
        return
    modules = {item.path.stem for item in session.items} - _source.incomplete
    existing = {file.stem for file in Path(__file__).parents[1].rglob("test_*.py")}
    removed = _source.remove_unasked(modules, existing)
    config.get_terminal_writer().line(f"\n{len(_source.written)} answers frozen, {len(removed)} removed")
