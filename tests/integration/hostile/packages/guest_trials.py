"""Trials in guests for attacks: packages of a few lines, run by the worker itself."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

import msgspec

from datamill.execution.worker import find_worker
from datamill.guests.images.isolation_image import IMAGE_FOLDER, make_isolation_image
from datamill.protocol.trial import SCHEMA_VERSION, PackageSpec, TrialLimits, TrialRecord, TrialSpec

#: Every package of these tests collects this way.
COLLECT = """#!/bin/sh
set -e
echo '{"answer": 42}' >metrics.json
tar czf out.tar.gz metrics.json
echo out.tar.gz
"""
#: Largest archive that these trials hand back.
ARCHIVE_BYTES = 1 << 20
#: A guest of a busy machine takes its time.
MOST_S = 900.0


@dataclass(frozen=True)
class GuestHost:
    """A machine whose worker has an image of a guest.

    Attributes:
        state: The worker's state folder.
        secret: What no package may read: it is in the worker's environment.
    """

    state: Path
    secret: str

    def specify(
        self,
        folder: Path,
        scripts: dict[str, str],
        *,
        levels: dict[str, str] | None = None,
        run_timeout_s: float = 240.0,
        processes: int = 0,
        memory_bytes: int = 0,
    ) -> TrialSpec:
        """Return the trial of a package with these scripts; all its files are in `folder`."""
        package = folder / "package"
        package.mkdir(parents=True)
        for name, script in {"collect.sh": COLLECT, **scripts}.items():
            path = package / name
            path.write_text(script)
            path.chmod(0o755)
        return TrialSpec(
            schema=SCHEMA_VERSION,
            experiment="hostile",
            trial_id="t1",
            attempt=1,
            package=PackageSpec(name="evil", path=str(package), sha256=None),
            levels=levels or {},
            isolation="guest",
            build="fresh",
            seed=7,
            limits=TrialLimits(
                setup_timeout_s=240.0,
                run_timeout_s=run_timeout_s,
                collect_timeout_s=240.0,
                output_bytes=1 << 20,
                archive_bytes=ARCHIVE_BYTES,
                package_bytes=1 << 24,
                package_files=100,
                world_bytes=0,
                processes=processes,
                memory_bytes=memory_bytes,
            ),
            scratch_dir=str(folder / "scratch"),
            cache_dir=str(folder / "cache"),
            output_dir=str(folder / "output"),
        )

    def start(self, spec: TrialSpec) -> subprocess.Popen[bytes]:
        """Start a trial; its record goes to standard output."""
        path = Path(spec.output_dir).with_name("spec.json")
        path.write_bytes(msgspec.json.encode(spec))
        return subprocess.Popen(
            [find_worker(), "run-trial", path],
            env={**os.environ, "DATAMILL_STATE_DIR": str(self.state), "OWNERS_TOKEN": self.secret},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )

    def run(self, spec: TrialSpec) -> TrialRecord:
        """Run a trial and return its record."""
        with self.start(spec) as process:
            told, _ = process.communicate(timeout=MOST_S)
        return msgspec.json.decode(told, type=TrialRecord)

    def read_output(self, spec: TrialSpec) -> str:
        """Return what its `run.sh` printed."""
        return Path(spec.output_dir, "run.out").read_text(errors="replace")

    def list_emulators(self) -> list[int]:
        """Return the processes on this machine that emulate a guest for this state folder's image."""
        mark = f"qemu-system-{platform.machine()}"
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes().decode(errors="replace")
                disks = [str(item.readlink()) for item in (process / "fd").iterdir()]
            except OSError:
                continue
            ours = any(disk.startswith(str(self.state)) for disk in disks)
            if mark in command and "boot-guest" in command and ours:
                found.append(int(process.name))
        return found


def make_guest_host(state: Path, secret: str) -> GuestHost:
    """Make the image of a guest in a state folder, with a shell and its tools.

    Raises:
        GuestUnavailableError: Something that guests need is missing here; the message says what.
    """
    state.mkdir(parents=True, exist_ok=True)
    make_isolation_image(state / IMAGE_FOLDER, platform.machine(), ())
    return GuestHost(state, secret)
