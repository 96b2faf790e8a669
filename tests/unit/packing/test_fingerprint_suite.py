"""Packages are known as members of the fingerprint suite by what they hold."""

import gzip
import os
from pathlib import Path

import pytest

from datamill.packing.fingerprint_suite import MOST_MEMBER_BYTES, SUITE_FOLDER, digest_content, digest_suite
from datamill.packing.members import pack_members


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    pack_members(SUITE_FOLDER / "members" / "int-sort", tmp_path / "int-sort.tar.gz")
    return tmp_path / "int-sort.tar.gz"


@pytest.mark.parametrize("level", [0, 9])
def test_a_member_is_known_however_its_archive_was_compressed(archive: Path, level: int) -> None:
    content = gzip.decompress(archive.read_bytes())
    archive.write_bytes(gzip.compress(content, compresslevel=level, mtime=7))
    assert digest_suite()[digest_content(archive)] == "int-sort"


def test_a_member_that_was_given_another_size_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "int-sort"
    folder.mkdir()
    for file in (SUITE_FOLDER / "members" / "int-sort").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
        (folder / file.name).chmod(file.stat().st_mode)
    pack_members(folder, tmp_path / "same.tar.gz")
    assert digest_suite().get(digest_content(tmp_path / "same.tar.gz")) == "int-sort"
    (folder / "env").write_text("SIZE=12\n")
    pack_members(folder, tmp_path / "other.tar.gz")
    assert digest_suite().get(digest_content(tmp_path / "other.tar.gz")) is None


def test_what_is_no_archive_or_unpacks_to_more_than_a_member_has_no_digest(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-20])
    assert digest_content(archive) == ""
    archive.write_bytes(os.urandom(1000))
    assert digest_content(archive) == ""
    archive.write_bytes(gzip.compress(bytes(MOST_MEMBER_BYTES + 1)))
    assert digest_content(archive) == ""
