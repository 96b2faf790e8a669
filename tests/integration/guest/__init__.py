"""Emulated guests: machines of our own that tests and studies may reboot and whose power they may cut."""

from .disk import make_disk
from .image import GuestImage, build_image, list_with_libraries
from .kernel import GuestUnavailableError
from .machine import Finished, Guest, GuestError

__all__ = [
    "Finished",
    "Guest",
    "GuestError",
    "GuestImage",
    "GuestUnavailableError",
    "build_image",
    "list_with_libraries",
    "make_disk",
]
