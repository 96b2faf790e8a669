"""The demo study's `prepare` and its way of getting sources."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import sys
import tarfile
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from datamill.experiment.errors import InputError
from datamill.packing import debian_sources, package_placing
from datamill.packing.debian_sources import SourcesError
from datamill.packing.package_sources import KnownSources, pack_corpus, read_snappy_corpus, unpack_sources
from datamill.packing.shipped_packages import find_shipped_package

STUDY = Path(__file__).resolve().parents[3] / "studies" / "xz-vs-bzip2"


def load_script(name: str, path: Path) -> ModuleType:
    loader = SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


prepare = load_script("prepare_xz_vs_bzip2", STUDY / "prepare")


def write_tarball(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def test_one_line_sources_become_sources_of_source_packages_with_their_options(tmp_path):
    (tmp_path / "sources.list").write_text(
        "# deb http://one.example/debian old main\n"
        "deb [signed-by=/k.gpg] http://one.example/debian stable main  contrib\n"
        "deb-src [signed-by=/k.gpg] http://one.example/debian stable main  contrib\n"
    )
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / "more.list").write_text("deb http://two.example/ubuntu noble universe\n")
    one_line, stanzas = debian_sources.derive_source_lists(tmp_path)
    assert one_line.splitlines() == [
        "deb-src [signed-by=/k.gpg] http://one.example/debian stable main  contrib",
        "deb-src http://two.example/ubuntu noble universe",
    ]
    assert stanzas == ""


def test_deb822_sources_become_sources_of_source_packages_and_keep_the_rest(tmp_path):
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / "debian.sources").write_text(
        "Types: deb\nURIs: http://one.example/debian\nSuites: stable\nComponents: main\nSigned-By: /k.gpg\n\n"
        "Types: deb deb-src\nEnabled: no\nURIs: http://two.example/debian\nSuites: stable\nComponents: main\n"
    )
    one_line, stanzas = debian_sources.derive_source_lists(tmp_path)
    assert one_line == ""
    assert stanzas.count("Types: deb-src\n") == 2
    assert "Types: deb\n" not in stanzas
    assert "Signed-By: /k.gpg" in stanzas
    assert "Enabled: no" in stanzas


def test_a_cached_tarball_with_the_pinned_digest_is_used_without_any_apt(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    tarball = tmp_path / "xz-utils_1.orig.tar.xz"
    tarball.write_bytes(b"content")
    pins = {tarball.name: hashlib.sha256(b"content").hexdigest()}
    assert debian_sources.fetch_tarball("xz-utils", tmp_path, pins) == tarball


def test_a_cached_tarball_that_was_damaged_is_never_used(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    tarball = tmp_path / "xz-utils_1.orig.tar.xz"
    tarball.write_bytes(b"damaged")
    pins = {tarball.name: hashlib.sha256(b"content").hexdigest()}
    with pytest.raises(debian_sources.SourcesError, match="apt-get is not on this machine"):
        debian_sources.fetch_tarball("xz-utils", tmp_path, pins)
    assert not tarball.exists()


#: Two versions of a source package in the lists, of which the mirror has the files of the older one only.
APT = """#!/bin/sh
case "$*" in
*showsrc*) printf 'Version: 1-2\\nFormat: x\\n\\nVersion: 1-1\\n' ;;
*--print-uris*)
    echo "'http://one.example/p_1.orig-www.tar.gz' p_1.orig-www.tar.gz 5 SHA256:@WWW@"
    echo "'http://one.example/p_1.orig.tar.gz' p_1.orig.tar.gz 7 SHA256:@SHA256@" ;;
*--download-only*p=1-1) printf content >p_1.orig.tar.gz ;;
*--download-only*) echo 'E: 404  Not Found' >&2; exit 100 ;;
esac
"""


@pytest.fixture
def fake_apt(tmp_path, monkeypatch):
    def install(text: str) -> None:
        (tmp_path / "bin").mkdir()
        for name in ("apt-get", "apt-cache"):
            script = tmp_path / "bin" / name
            script.write_text(text)
            script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    return install


def test_a_version_whose_files_the_mirror_lacks_gives_way_to_an_older_one(tmp_path, fake_apt):
    fake_apt(APT.replace("@SHA256@", hashlib.sha256(b"content").hexdigest()).replace("@WWW@", "0" * 64))
    tarball = debian_sources.fetch_tarball("p", tmp_path / "cache", {}, tmp_path)
    assert tarball.name == "p_1.orig.tar.gz"
    assert tarball.read_bytes() == b"content"


def test_a_download_with_another_digest_than_the_signed_one_is_refused(tmp_path, fake_apt):
    fake_apt(APT.replace("@SHA256@", "1" * 64).replace("@WWW@", "0" * 64))
    with pytest.raises(SourcesError, match="arrived with another SHA-256"):
        debian_sources.fetch_tarball("p", tmp_path / "cache", {}, tmp_path)
    assert not list((tmp_path / "cache").glob("*.tar.gz"))


def test_a_download_that_fails_in_every_version_says_what_apt_said(tmp_path, fake_apt):
    fake_apt(APT.replace("*p=1-1)", "never)").replace("@SHA256@", "1" * 64).replace("@WWW@", "0" * 64))
    with pytest.raises(SourcesError, match=r"p_1\.orig\.tar\.gz could not be downloaded:\nE: 404"):
        debian_sources.fetch_tarball("p", tmp_path / "cache", {}, tmp_path)


def test_a_download_says_how_large_it_is_how_far_and_how_long_it_takes(tmp_path, fake_apt, monkeypatch):
    monkeypatch.setattr(debian_sources, "_TELL_EVERY_S", 0.01)
    wait = "until [ -e ../go-on ]; do sleep 0.01; done"
    slow = f"printf cont >p_1.orig.tar.gz; {wait}; printf ent >>p_1.orig.tar.gz"
    text = APT.replace("printf content >p_1.orig.tar.gz", slow)
    fake_apt(text.replace("@SHA256@", hashlib.sha256(b"content").hexdigest()).replace("@WWW@", "0" * 64))
    told = []

    def tell(sentence):
        told.append(sentence)
        if "57%" in sentence:
            (tmp_path / "go-on").touch()

    debian_sources.fetch_tarball("p", tmp_path / "cache", {}, tmp_path, tell)
    assert told[0] == "Fetching the sources of p: reading the lists of this system's package archive …"
    assert told[1].startswith("Downloading p_1.orig.tar.gz, 0.0 MB")
    assert any("p_1.orig.tar.gz: 0.0 MB, 57%, about 1 s to go" in sentence for sentence in told)


def test_a_package_that_is_placed_tells_of_its_download(tmp_path, monkeypatch):
    """`new --from` prints what it is told."""

    def fetch(name, _cache, _pins, *, tell):
        tell(f"Downloading {name} …")
        raise SourcesError("enough")

    monkeypatch.setattr(package_placing, "fetch_tarball", fetch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    told: list[str] = []
    with pytest.raises(InputError, match="enough"):
        package_placing.place_package(find_shipped_package("bzip2"), tmp_path / "p", {}, told.append)
    assert told == ["Downloading bzip2 …"]


def test_what_a_package_leaves_out_is_not_unpacked(tmp_path):
    tarball = write_tarball(
        tmp_path / "t.tar.gz", {"top/a.c": b"1", "top/doc/a": b"2", "top/src/doc": b"3", "top/list": b"4"}
    )
    unpack_sources(tarball, tmp_path / "into", ("a.c",), ("doc", "list"))
    assert sorted(str(p.relative_to(tmp_path / "into")) for p in (tmp_path / "into").rglob("*")) == [
        "a.c", "src", "src/doc",
    ]  # fmt: skip


def test_the_packed_corpus_has_the_same_bytes_in_whatever_order_files_are_found():
    files = {"b": b"2", "a": b"1"}
    assert pack_corpus(files) == pack_corpus(dict(sorted(files.items())))


@pytest.mark.parametrize("name", ["../outside", "/outside", "top/../../outside"])
def test_a_tarball_that_leads_out_of_itself_is_refused(tmp_path, name):
    tarball = write_tarball(tmp_path / "t.tar.gz", {name: b"x"})
    with pytest.raises(SourcesError, match="leads out of the archive"):
        unpack_sources(tarball, tmp_path / "into")
    assert not (tmp_path / "outside").exists()


def test_a_corpus_file_that_differs_from_the_known_one_is_refused(tmp_path):
    tarball = write_tarball(tmp_path / "snappy.tar.gz", {"snappy-1/testdata/html": b"another"})
    known = KnownSources({}, ("html",), {"html": hashlib.sha256(b"the known").hexdigest()})
    with pytest.raises(SourcesError, match="is not the file that we know"):
        read_snappy_corpus(tarball, known, whole=False)


def test_the_tarball_of_another_program_is_refused(tmp_path):
    tarball = write_tarball(tmp_path / "other.tar.gz", {"other-1/configure": b"", "other-1/main.c": b""})
    with pytest.raises(SourcesError, match=r"not the release tarball .* it has no src/xz/main\.c"):
        prepare.make_package("xz", tarball, b"corpus", None, tmp_path / "package")
