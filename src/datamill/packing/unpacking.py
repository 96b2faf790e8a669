"""An archive of a package, load or factor as the folder that it was packed from."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

from datamill.packing.members import MemberChecks, list_members

_PIECE_BYTES = 1 << 20


def unpack_members(archive: Path, folder: Path) -> None:
    """Write the members of a `.tar.gz` into a new folder, with nothing outside of it.

    All are checked before the first is written, and links are made last: nothing is written through one.

    Raises:
        InputError: the archive cannot be read, a member reaches outside, or two have one name.
    """
    checks = MemberChecks(archive)
    for member in list_members(archive, ()):
        checks.check(member)
    folder.mkdir(parents=True)
    links: list[tuple[Path, tarfile.TarInfo]] = []
    with tarfile.open(archive, mode="r:gz") as tar:
        for item in tar:
            name = item.name.removeprefix("./")
            if name in ("", "."):
                continue
            target = folder / name
            if item.isdir():
                target.mkdir(parents=True, exist_ok=True)
            elif item.isreg():
                _write(tar, item, target)
            else:
                links.append((target, item))
    for target, item in links:
        target.parent.mkdir(parents=True, exist_ok=True)
        if item.islnk():
            os.link(folder / item.linkname, target, follow_symlinks=False)
        else:
            target.symlink_to(item.linkname)


def _write(tar: tarfile.TarFile, item: tarfile.TarInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    content = tar.extractfile(item)
    assert content is not None, "a plain file has content"
    with target.open("xb") as handle:
        while piece := content.read(_PIECE_BYTES):
            handle.write(piece)
    target.chmod(0o755 if item.mode & 0o111 else 0o644)
