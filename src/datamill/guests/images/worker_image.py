"""The image of a guest that is a worker."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from datamill.guests.images.image import GuestImage, build_image
from datamill.guests.images.root_disk import build_root_disk
from datamill.guests.images.worker_binary import find_guest_worker


def build_worker_image(
    worker: Path | None = None,
    files: Mapping[str, Path] | None = None,
    *,
    arch: str | None = None,
    packages: Sequence[str] | None = None,
    kernel: str | None = None,
) -> GuestImage:
    """Return the image of a guest with a worker.

    Args:
        worker: The worker; found or built for the architecture if left out.
        files: More files, see `build_image`.
        arch: Architecture, as `uname -m` says it; this host's if left out.
        packages: Packages of Debian that it has besides a shell and its tools; None: busybox alone. With
            `systemd` among them its first process is systemd.
        kernel: Debian's package of its kernel, such as `linux-image-amd64`; the smallest if left out.

    Raises:
        GuestUnavailableError: Something that guests need is missing here; the message says what.
    """
    arch = arch or platform.machine()
    binary = worker or find_guest_worker(arch)
    root = None if packages is None else build_root_disk(arch, packages)
    return build_image(arch, {"usr/bin/datamill-worker": binary, **(files or {})}, root=root, kernel=kernel)
