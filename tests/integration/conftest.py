"""Emulated guests for tests that reboot a machine or cut its power."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from datamill.guests import Guest, GuestImage, GuestUnavailableError, build_worker_image, make_disk


@pytest.fixture(scope="session")
def guest_image() -> GuestImage:
    """What guests boot, with the worker in it; skips, with the reason, where guests cannot be made."""
    try:
        return build_worker_image()
    except GuestUnavailableError as error:
        pytest.skip(f"no guests here: {error}")


@pytest.fixture
def start_guest(guest_image: GuestImage, tmp_path: Path) -> Iterator[Callable[..., Guest]]:
    """Boot a guest with a new disk; keyword arguments go to `Guest`. It is switched off after the test."""
    with ExitStack() as guests:

        def start(**options: int) -> Guest:
            try:
                disk = make_disk(tmp_path / "disk")
                return guests.enter_context(Guest(guest_image, disk, **options))
            except GuestUnavailableError as error:
                pytest.skip(f"no guests here: {error}")

        yield start
