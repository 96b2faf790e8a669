"""Emulated machines: workers of your own that may be rebooted and whose power may be cut.

disk = make_disk(folder / "disk", content=packages)     # packages/NAME/run.sh, ... appear below /var
with Guest(build_worker_image(), disk) as guest:
    for spec in specs:
        guest.reboot()
        record = run_trial(guest, spec)
"""

from datamill.guests.emulator import MachineModel, choose_model, mix_models
from datamill.guests.images.disk import make_disk
from datamill.guests.images.image import GuestImage, build_image, list_with_libraries
from datamill.guests.images.worker_image import build_worker_image
from datamill.guests.machine import Finished, Guest, GuestError
from datamill.guests.trials import make_spec, put_package, run_trial, write_spec
from datamill.guests.unavailable import GuestUnavailableError

__all__ = [
    "Finished",
    "Guest",
    "GuestError",
    "GuestImage",
    "GuestUnavailableError",
    "MachineModel",
    "build_image",
    "build_worker_image",
    "choose_model",
    "list_with_libraries",
    "make_disk",
    "make_spec",
    "mix_models",
    "put_package",
    "run_trial",
    "write_spec",
]
