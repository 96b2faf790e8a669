"""Trials inside a guest, by the contract of every worker: a specification goes in, a record comes out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from datamill.guests.machine import Guest, GuestError
from datamill.protocol.trial import (
    NO_NEEDS,
    SCHEMA_VERSION,
    Needs,
    PackageSpec,
    TrialLimits,
    TrialRecord,
    TrialSpec,
)

#: Where trials and packages are put.
TRIALS = "/var/trials"
PACKAGES = "/var/packages"


def put_package(guest: Guest, name: str, folder: Path) -> None:
    """Put the folder of a small package into a guest; large ones belong on its disk, see `make_disk`."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            place = f"{PACKAGES}/{name}/{path.relative_to(folder)}"
            guest.write(place, path.read_bytes(), path.stat().st_mode & 0o777)


def make_spec(
    trial_id: str,
    package: str,
    levels: Mapping[str, str],
    *,
    seed: int = 1,
    run_timeout_s: float = 600.0,
    needs: Needs = NO_NEEDS,
) -> TrialSpec:
    """Return the specification of a trial of a package that is in the guest's `PACKAGES`."""
    return TrialSpec(
        schema=SCHEMA_VERSION,
        experiment="guest",
        trial_id=trial_id,
        attempt=1,
        package=PackageSpec(name=package, path=f"{PACKAGES}/{package}", sha256=None),
        levels=dict(levels),
        isolation="confined",
        build="fresh",
        seed=seed,
        limits=TrialLimits(
            setup_timeout_s=600.0,
            run_timeout_s=run_timeout_s,
            collect_timeout_s=60.0,
            output_bytes=1 << 20,
            archive_bytes=1 << 24,
            package_bytes=1 << 28,
            package_files=10_000,
            world_bytes=0,
        ),
        scratch_dir=f"{TRIALS}/scratch",
        needs=needs,
        cache_dir=f"{TRIALS}/cache",
        output_dir=f"{TRIALS}/output/{trial_id}",
    )


def write_spec(guest: Guest, spec: TrialSpec) -> str:
    """Put a specification on the guest's disk and return its path."""
    path = f"{TRIALS}/{spec.trial_id}.json"
    guest.write(path, msgspec.json.encode(spec))
    return path


def run_trial(guest: Guest, spec: TrialSpec, timeout_s: float = 600.0) -> TrialRecord:
    """Run a trial in a guest and return its record, whatever its outcome.

    Raises:
        GuestError: The worker made no record, or did not end in time.
    """
    path = write_spec(guest, spec)
    record = path.replace(".json", ".record.json")
    done = guest.run(f"datamill-worker run-trial {path} --record {record}", timeout_s)
    if done.status not in (0, 1):
        raise GuestError(f"the worker ended with status {done.status}: {done.output}")
    return msgspec.json.decode(guest.read(record), type=TrialRecord)
