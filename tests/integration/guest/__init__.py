"""Emulated guests: machines of our own that tests and studies may reboot and whose power they may cut.

disk = make_disk(folder / "disk", content=packages)     # packages/NAME/run.sh, ... appear below /var
with Guest(build_worker_image(find_worker()), disk) as guest:
    for spec in specs:
        guest.reboot()
        record = run_trial(guest, spec)
"""

from .disk import make_disk
from .image import GuestImage, build_image, list_with_libraries
from .kernel import GuestUnavailableError
from .machine import Finished, Guest, GuestError
from .trials import build_worker_image, make_spec, put_package, run_trial, write_spec

__all__ = [
    "Finished",
    "Guest",
    "GuestError",
    "GuestImage",
    "GuestUnavailableError",
    "build_image",
    "build_worker_image",
    "list_with_libraries",
    "make_disk",
    "make_spec",
    "put_package",
    "run_trial",
    "write_spec",
]
