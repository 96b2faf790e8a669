"""The pages of memory in which the kernel keeps programs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from datamill.execution.placing.page_cache import can_place, find_program, place_anew


def test_a_program_is_dropped_from_memory_and_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dropped: list[str] = []

    def drop(descriptor: int, offset: int, length: int, advice: int) -> None:
        assert (offset, length, advice) == (0, 0, os.POSIX_FADV_DONTNEED)
        dropped.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    program, gone = tmp_path / "prog", tmp_path / "gone"
    program.write_bytes(b"\1" * 100_000)
    monkeypatch.setattr(os, "posix_fadvise", drop)
    place_anew([program, gone])
    assert dropped == ["prog"]
    assert program.read_bytes() == b"\1" * 100_000
    # What takes long to be read again stays where it is: a large program, and many together.
    large = tmp_path / "large"
    large.touch()
    os.truncate(large, 65 << 20)
    place_anew([large])
    many = [tmp_path / str(number) for number in range(5)]
    for path in many:
        path.touch()
        os.truncate(path, 60 << 20)
    place_anew(many)
    assert dropped == ["prog"]
    assert [can_place(paths) for paths in ([program, gone], [large], many, many[:4], [])] == [
        True, False, False, True, True,
    ]  # fmt: skip


def test_the_compiled_program_that_a_command_begins_with_is_found(tmp_path: Path) -> None:
    program = tmp_path / "prog"
    shutil.copy2("/bin/true", program)
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert find_program(("./prog", "1"), tmp_path) == program
    assert find_program((str(program),), Path("/")) == program
    assert find_program(("/bin/sh", "-c", "./prog 1 | wc"), tmp_path) == program
    assert find_program(("true",), tmp_path) == Path(shutil.which("true") or "").resolve()
    for words in (
        ("./script",),
        ("./gone",),
        ("no-such-program",),
        ("/bin/sh", "-c", "'"),
        ("/bin/sh", "-c", ""),
    ):
        assert find_program(words, tmp_path) is None
