"""The script that boots an image outside of this program, with a shell on the terminal."""

from __future__ import annotations

from datamill.guests.emulator import choose_model, list_machine_options, write_kernel_line
from datamill.guests.images.image import GuestImage

_SCRIPT = """#!/bin/sh
# Boots the worker of this folder with a shell on this terminal; `poweroff -f` ends it, and so does Ctrl-A X.
# CPU=... names another processor, MEMORY=... other MiB. It reaches this machine at 10.0.2.2. In it:
#   datamill-worker join URL --token TOKEN
here=$(dirname "$0")
exec {program} {options} -cpu "${{CPU:-{cpu}}}" -m "${{MEMORY:-1024}}" \\
    -nodefaults -no-user-config -display none -serial mon:stdio \\
    -kernel "$here/kernel" -initrd "$here/initramfs" \\
    -append "{kernel_line} datamill.shell" \\
    -device virtio-rng-pci -netdev user,id=network -device virtio-net-pci,netdev=network,romfile= \\
    -blockdev "driver=file,node-name=disk,filename=$here/disk" \\
    -device virtio-blk-pci,drive=disk,addr=4{root} "$@"
"""
_ROOT = """ \\
    -blockdev "driver=file,node-name=root,filename=$here/root,read-only=on" \\
    -device virtio-blk-pci,drive=root,addr=5"""


def make_start_script(image: GuestImage) -> str:
    """Return a shell script that boots the image whose files are beside it."""
    model = choose_model(image.arch)
    program, options = list_machine_options(image.arch)
    return _SCRIPT.format(
        program=program,
        options=" ".join(options),
        cpu=model.cpu,
        kernel_line=write_kernel_line(image.arch),
        root=_ROOT if image.root is not None else "",
    )
