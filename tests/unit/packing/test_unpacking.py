"""Archives of packages become folders, and nothing outside of them."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from datamill.experiment.errors import InputError
from datamill.packing.members import pack_members
from datamill.packing.unpacking import unpack_members


def write_archive(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def make_member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def test_a_folder_that_was_packed_comes_back_as_it_was(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "data").mkdir(parents=True)
    (source / "run.sh").write_text("#!/bin/sh\n")
    (source / "run.sh").chmod(0o755)
    (source / "data" / "words").write_text("one two")
    (source / "again").symlink_to("data/words")
    packed = pack_members(source, tmp_path / "a.tar.gz")
    unpack_members(packed.archive, tmp_path / "copy")
    assert (tmp_path / "copy" / "again").readlink() == Path("data/words")
    assert os.access(tmp_path / "copy" / "run.sh", os.X_OK)
    assert pack_members(tmp_path / "copy", tmp_path / "b.tar.gz").sha256 == packed.sha256


@pytest.mark.parametrize(
    "member",
    [
        make_member("../outside"),
        make_member("/outside"),
        make_member("leads", tarfile.SYMTYPE, "../../outside"),
        make_member("leads", tarfile.LNKTYPE, "../outside"),
        make_member("device", tarfile.CHRTYPE),
    ],
    ids=lambda member: f"{member.name} {member.linkname}",
)
def test_what_leads_outside_is_refused_before_anything_is_written(
    member: tarfile.TarInfo, tmp_path: Path
) -> None:
    archive = write_archive(tmp_path / "a.tar.gz", (make_member("run.sh"), b"#!/bin/sh\n"), (member, b""))
    with pytest.raises(InputError):
        unpack_members(archive, tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz"]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "copy-of").mkdir()
    link = make_member("data", tarfile.SYMTYPE, "run.d")
    archive = write_archive(tmp_path / "a.tar.gz", (link, b""), (make_member("data/x"), b"there"))
    with pytest.raises((InputError, OSError)):
        unpack_members(archive, tmp_path / "copy")
    assert not (tmp_path / "copy" / "run.d").exists()


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "a.tar.gz", (make_member("x"), b"1"), (make_member("x"), b"2"))
    with pytest.raises(InputError, match="two members"):
        unpack_members(archive, tmp_path / "copy")
