from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from datamill.guests.emulator import MachineModel, mix_models
from datamill.guests.lab import LabGuest, choose_names, list_guests, remove_unfinished, rewrite_url


def keep_guest(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    guest = LabGuest(name, "x86_64", "qemu64", "http://10.0.2.2:8642")
    (folder / name / "guest.json").write_bytes(msgspec.json.encode(guest))


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("http://127.0.0.1:8642", "http://10.0.2.2:8642"),
        ("https://localhost:8642", "https://10.0.2.2:8642"),
        ("http://[::1]:8642", "http://10.0.2.2:8642"),
        ("https://lab.example:443", "https://lab.example:443"),
        ("https://127.0.0.1", "https://10.0.2.2"),
    ],
)
def test_a_guest_sees_what_is_local_here_at_the_address_of_its_host(given: str, seen: str) -> None:
    assert rewrite_url(given) == seen


def test_machines_differ_in_architecture_first_and_in_processor_then() -> None:
    models = mix_models(("x86_64", "aarch64"), 4)
    assert [model.arch for model in models] == ["x86_64", "aarch64", "x86_64", "aarch64"]
    assert len(set(models)) == 4
    assert len(set(mix_models(("x86_64",), 3))) == 3
    assert mix_models(("aarch64",), 1) == [MachineModel("aarch64", "cortex-a57")]
    assert len(mix_models(("aarch64",), 9)) == 9


def test_a_new_guest_takes_the_first_free_name(tmp_path: Path) -> None:
    keep_guest(tmp_path, "guest-2")
    assert choose_names(tmp_path, 3) == ["guest-1", "guest-3", "guest-4"]


def test_a_guest_whose_making_was_interrupted_is_none(tmp_path: Path) -> None:
    keep_guest(tmp_path, "guest-1")
    (tmp_path / "guest-2").mkdir()
    (tmp_path / "guest-2" / "disk").write_bytes(b"")
    remove_unfinished(tmp_path)
    assert [guest.name for guest in list_guests(tmp_path)] == ["guest-1"]
    assert [path.name for path in tmp_path.iterdir()] == ["guest-1"]
