"""Runs scripts in a guest: `python -m datamill.guests 'datamill-worker inventory'`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from datamill.experiment.messages.numbers import format_fixed
from datamill.guests.images.disk import make_disk
from datamill.guests.images.image import list_with_libraries
from datamill.guests.images.worker_image import build_worker_image
from datamill.guests.machine import Guest
from datamill.guests.unavailable import GuestUnavailableError


def main() -> int:
    """Boot, run each script after a boot of its own, print what they said, and return the last status."""
    parser = argparse.ArgumentParser(prog="python -m datamill.guests", description="Runs scripts in a guest.")
    parser.add_argument("script", nargs="+", help="shell script; the machine reboots between two")
    parser.add_argument("--arch", help="architecture, x86_64 or aarch64 (default: this machine's)")
    parser.add_argument("--packages", help="packages of Debian, such as gcc,make (default: busybox alone)")
    parser.add_argument("--disk", type=Path, help="disk to use; made if missing, kept afterwards")
    parser.add_argument("--size-mib", type=int, default=256, help="size of a new disk (default 256)")
    parser.add_argument("--program", action="append", default=[], help="program of the host to take along")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for each script (default 600)")
    options = parser.parse_args()
    packages = options.packages.split(",") if options.packages is not None else None
    status = 0
    try:
        with tempfile.TemporaryDirectory() as folder:
            disk = options.disk or Path(folder, "disk")
            if not disk.exists():
                make_disk(disk, size_mib=options.size_mib)
            image = build_worker_image(
                files=list_with_libraries(*options.program), arch=options.arch, packages=packages
            )
            with Guest(image, disk) as guest:
                for number, script in enumerate(options.script):
                    if number:
                        guest.reboot()
                    print(
                        f"# boot {guest.boot_id} took {format_fixed(guest.boot_time_s, 1)} s", file=sys.stderr
                    )
                    done = guest.run(script, options.timeout)
                    sys.stdout.write(done.output)
                    status = done.status
                guest.power_off()
    except GuestUnavailableError as error:
        print(f"no guests here: {error}", file=sys.stderr)
        return 2
    return status


sys.exit(main())
