"""Trials of hostile packages, by the worker's own command, and what they leave on this machine."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from datamill.execution.worker import find_worker
from datamill.protocol.trial import (
    NO_NEEDS,
    SCHEMA_VERSION,
    Needs,
    PackageSpec,
    TrialLimits,
    TrialRecord,
    TrialSpec,
)

#: Longest time that a trial of these may take: far more than its own limits, far less than for ever.
#: A busy machine takes its time.
MOST_S = 300.0
HARMLESS = "exit 0"
COLLECT = "echo done > results; tar -cf results.tar results; echo results.tar"
GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class PackageHost:
    """A folder with packages, and the worker's state folder."""

    folder: Path
    isolation: str
    needs: Needs = NO_NEEDS
    covered: tuple[str, ...] = ()

    def run(
        self,
        run: str,
        *,
        collect: str = COLLECT,
        setup: str = "",
        build: str = "fresh",
        through: Sequence[str] = (),
        **limits: int,
    ) -> TrialRecord:
        """Run a trial of a package with these scripts and return its record."""
        with self.start(run, collect=collect, setup=setup, build=build, through=through, **limits) as process:
            told, _ = process.communicate(timeout=MOST_S)
        return msgspec.json.decode(told, type=TrialRecord)

    def run_folder(self, package: Path, **limits: int) -> TrialRecord:
        """Run a trial of a package that is there already and return its record."""
        with self._start(package, "fresh", (), limits) as process:
            told, _ = process.communicate(timeout=limits.get("run_timeout_s", 0) + MOST_S)
        return msgspec.json.decode(told, type=TrialRecord)

    def start(
        self,
        run: str,
        *,
        collect: str = COLLECT,
        setup: str = "",
        build: str = "fresh",
        through: Sequence[str] = (),
        **limits: int,
    ) -> subprocess.Popen[bytes]:
        """Start such a trial; its record goes to standard output."""
        package = self.folder / f"package{len(list(self.folder.glob('package*')))}"
        package.mkdir(parents=True)
        for name, text in (("run.sh", run), ("collect.sh", collect), ("setup.sh", setup)):
            if text:
                start = "" if text.startswith("#!") else "#!/bin/sh\n"
                (package / name).write_text(f"{start}{text}\n")
                (package / name).chmod(0o755)
        return self._start(package, build, through, limits)

    def _start(
        self, package: Path, build: str, through: Sequence[str], limits: dict[str, int]
    ) -> subprocess.Popen[bytes]:
        (package / "env").write_text(f"HOSTILE_TRIAL={self.folder}\n")
        spec = self.folder / "spec.json"
        spec.write_bytes(msgspec.json.encode(self._specify(package, build, limits)))
        return subprocess.Popen(
            [*through, find_worker(), "run-trial", spec],
            env={**os.environ, "DATAMILL_STATE_DIR": str(self.folder / "state")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )

    def read_output(self, name: str) -> str:
        """Return what a script printed."""
        return (self.folder / "output" / name).read_text(errors="replace")

    def list_left(self) -> list[str]:
        """Return processes, groups, mounts and scratch files that trials in this folder left."""
        left = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                variables = (process / "environ").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if f"HOSTILE_TRIAL={self.folder}" in variables:
                left.append(f"process {process.name}")
        left += [f"mount {line}" for line in Path("/proc/self/mountinfo").read_text().splitlines()
                 if str(self.folder) in line]  # fmt: skip
        left += [str(path) for path in (self.folder / "scratch").rglob("*")]
        return left

    def _specify(self, package: Path, build: str, limits: dict[str, int]) -> TrialSpec:
        bounds = {
            "setup_timeout_s": 10.0,
            "run_timeout_s": 20.0,
            "collect_timeout_s": 10.0,
            "output_bytes": 1 << 16,
            "archive_bytes": 1 << 20,
            "package_bytes": 1 << 24,
            "package_files": 100,
            "world_bytes": 64 << 20,
            # Bounded, whatever becomes of an attack.
            "processes": 400,
            "memory_bytes": 256 << 20,
        }
        return TrialSpec(
            schema=SCHEMA_VERSION,
            experiment="hostile",
            trial_id="t1",
            attempt=1,
            package=PackageSpec(name="evil", path=str(package), sha256=None),
            levels={},
            isolation=self.isolation,  # type: ignore[arg-type]
            build=build,  # type: ignore[arg-type]
            seed=7,
            limits=TrialLimits(**(bounds | limits)),  # type: ignore[arg-type]
            scratch_dir=str(self.folder / "scratch"),
            cache_dir=str(self.folder / "cache"),
            output_dir=str(self.folder / "output"),
            needs=self.needs,
            covered=self.covered,
        )


def list_groups(worker: int | None = None) -> list[Path]:
    """Return control groups of trials on this machine, of one worker if its number is given."""
    mark = f"datamill-trial-{worker}-*" if worker else "datamill-trial-*"
    places = {GROUPS, *GROUPS.glob("*/")}
    return [group for place in places for group in place.rglob(mark)]


def await_holding(what: str, holds: Callable[[], bool], most_s: float = 60.0) -> None:
    """Wait until something holds.

    Raises:
        AssertionError: It did not hold in time.
    """
    deadline_s = time.monotonic() + most_s
    while not holds():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.02)
