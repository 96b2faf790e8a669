"""What trials with `isolation = "guest"` boot: a kernel, its modules, and a root of Debian's programs.

The worker adds itself when it boots one, so that an image outlives its versions.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from datamill.guests.images.cpio import CpioArchive
from datamill.guests.images.kernel import find_kernel, list_modules, read_module
from datamill.guests.images.root_disk import COMPILER_PACKAGES, build_root_disk

#: Version of the folder's layout; the worker reads no other (`crates/worker/src/guest/machine/image.rs`).
IMAGE_SCHEMA = 1
#: Folder of the worker's state folder in which it looks for the image.
IMAGE_FOLDER = "guest-image"
_FACTS = "image.json"
_MODULES = ("virtio_pci", "virtio_blk", "virtio_rng", "ext4", "overlay", "loop")
_FOLDERS = ("dev", "modules", "proc", "root-to-be", "sys")


def make_isolation_image(folder: Path, arch: str, packages: Sequence[str] = COMPILER_PACKAGES) -> str:
    """Make the image in a folder, in place of an older one, and return the release of its kernel.

    Args:
        folder: Where to; missing, empty, or with an older image.
        arch: Architecture of the machine, as `uname -m` says it.
        packages: Debian's packages that trials find besides a shell and its tools.

    Raises:
        GuestUnavailableError: Something that guests need is missing here; the message says what.
        FileExistsError: The folder has something else.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / _FACTS).is_file():
        raise FileExistsError(f"{folder} has something else in it than an image of a guest")
    kernel = find_kernel(arch)
    root = build_root_disk(arch, packages)
    archive = CpioArchive()
    for name in _FOLDERS:
        archive.add_folder(name)
    for number, module in enumerate(list_modules(kernel, _MODULES)):
        archive.add_file(f"modules/{number:02}-{module.name.split('.ko')[0]}.ko", read_module(module), 0o644)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as draft:
        made = Path(draft, "image")
        made.mkdir(mode=0o755)
        shutil.copyfile(kernel.image, made / "kernel")
        (made / "modules").write_bytes(archive.finish())
        shutil.copyfile(root, made / "root")
        facts = {
            "schema": IMAGE_SCHEMA,
            "arch": arch,
            "kernel": kernel.version,
            "packages": sorted(packages),
        }
        (made / _FACTS).write_text(json.dumps(facts, indent=2) + "\n")
        if folder.exists():
            folder.rename(Path(draft, "old"))
        made.rename(folder)
    return kernel.version
