"""Trials through our worker, one call each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WORKER = Path(sys.executable).parent / "datamill-worker"


class OurTrials:
    """Trials of a package in `folder / "package"`; each call runs one.

    `levels` are the factors' levels and `isolation` the kind of world of every trial.
    """

    def __init__(
        self, folder: Path, *, levels: Mapping[str, str] | None = None, isolation: str = "plain"
    ) -> None:
        self._folder = folder
        self._levels = dict(levels or {})
        self._isolation = isolation
        self._number = 0

    def __call__(self) -> float:
        """One trial's wall time in seconds."""
        return float(self.run_trial()["run"]["wall_time_ns"]) / 1e9

    def run_trial(self) -> dict[str, Any]:
        """One trial's record, which must tell that it completed."""
        self._number += 1
        trial = f"{self._number:06}"
        spec = {
            "schema": 4,
            "experiment": "bench",
            "trial_id": trial,
            "attempt": 1,
            "package": {"name": "package", "path": str(self._folder / "package"), "sha256": None},
            "levels": self._levels,
            "isolation": self._isolation,
            "build": "fresh",
            "seed": 1,
            "limits": {
                "setup_timeout_s": 60.0,
                "run_timeout_s": 60.0,
                "collect_timeout_s": 60.0,
                "output_bytes": 1 << 20,
                "archive_bytes": 1 << 24,
                "package_bytes": 1 << 24,
                "package_files": 10,
                "world_bytes": 0,
            },
            "scratch_dir": str(self._folder / "scratch" / trial),
            "cache_dir": str(self._folder / "cache"),
            "output_dir": str(self._folder / "output" / trial),
        }
        file = self._folder / "spec.json"
        file.write_text(json.dumps(spec), encoding="utf-8")
        told = subprocess.run([WORKER, "run-trial", file], stdout=subprocess.PIPE, check=False).stdout
        record: dict[str, Any] = json.loads(told) if told else {}
        if record.get("outcome") != "completed":
            raise SystemExit(f"the worker did not complete trial {trial}: {record.get('failure')}")
        return record


def write_collect_script(package: Path) -> None:
    """The `collect.sh` that every package needs; all files of the package become executable."""
    script = "#!/bin/sh\ntar -czf result.tar.gz run.sh\necho result.tar.gz\n"
    (package / "collect.sh").write_text(script, encoding="ascii")
    for file in package.iterdir():
        file.chmod(0o755)
