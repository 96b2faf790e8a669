"""Packages: what is accepted, and that equal content packs to equal bytes."""

import gzip
import io
import os
import subprocess
import tarfile
import zlib
from pathlib import Path

import pytest

from datamill.conduct.question.needed_metrics import check_metrics_can_come, list_needed_metrics
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Limits
from datamill.experiment.file.parse import parse_experiment
from datamill.packing.packages import inspect_package, pack_package

SCRIPT = b"#!/bin/sh\n"
EXPERIMENT = """
[experiment]
name = "e"
[[package]]
name = "p"
path = "p"
[responses.rate]
unit = "op/s"
direction = "higher"
formula = "{formula}"
"""


def make_package(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in {"run.sh": "#!/bin/sh\n", "collect.sh": "#!/bin/sh\n"}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def make_archive(path: Path, members: list[tarfile.TarInfo]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name in ("run.sh", "collect.sh"):
            member = tarfile.TarInfo(name)
            member.mode = 0o755
            member.size = len(SCRIPT)
            tar.addfile(member, io.BytesIO(SCRIPT))
        for member in members:
            tar.addfile(member, io.BytesIO(b"\0" * member.size))
    return path


def inspect(path: Path, **limits: int):
    return inspect_package("p", path, Limits(**limits))


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    return info


def test_a_sound_folder_and_its_archive_are_accepted(tmp_path: Path) -> None:
    facts = inspect(make_package(tmp_path / "p", data="12345"))
    assert (facts.files, facts.has_setup) == (3, False)
    packed = pack_package(facts, tmp_path / "p.tar.gz")
    assert inspect(packed.archive).size_bytes == facts.size_bytes


def test_equal_content_packs_to_equal_bytes_whenever_it_was_written(tmp_path: Path) -> None:
    one = make_package(tmp_path / "one", data="1", other="2")
    two = make_package(tmp_path / "two", other="2", data="1")
    os.utime(two / "data", (1, 1))
    hashes = {pack_package(inspect(path), tmp_path / f"{path.name}.tar.gz").sha256 for path in (one, two)}
    assert len(hashes) == 1


def test_a_changed_byte_or_mode_changes_the_hash(tmp_path: Path) -> None:
    path = make_package(tmp_path / "p", data="1")
    before = pack_package(inspect(path), tmp_path / "a").sha256
    (path / "data").chmod(0o755)
    after_mode = pack_package(inspect(path), tmp_path / "b").sha256
    (path / "data").write_text("2")
    assert len({before, after_mode, pack_package(inspect(path), tmp_path / "c").sha256}) == 3


def test_hard_links_within_a_folder_pack_as_files(tmp_path: Path) -> None:
    path = make_package(tmp_path / "p", data="content")
    os.link(path / "data", path / "again")
    packed = pack_package(inspect(path), tmp_path / "p.tar.gz")
    with tarfile.open(packed.archive) as tar:
        again = tar.extractfile("again")
        assert again is not None
        assert again.read() == b"content"


def test_a_missing_run_script_is_named(tmp_path: Path) -> None:
    path = make_package(tmp_path / "p")
    (path / "run.sh").unlink()
    with pytest.raises(InputError, match=r"no run\.sh"):
        inspect_package("p", path, Limits())


def test_a_package_needs_no_collect_script_unless_a_response_needs_its_metrics(tmp_path: Path) -> None:
    path = make_package(tmp_path / "p")
    (path / "collect.sh").unlink()
    facts = inspect_package("p", path, Limits())
    assert not facts.has_collect
    built_in = parse_experiment(EXPERIMENT.format(formula="wall_time_s * 2"), name="e.toml")
    assert list_needed_metrics(built_in) == []
    check_metrics_can_come(built_in, [facts.name], where="e.toml")
    own = parse_experiment(EXPERIMENT.format(formula="operations / wall_time_s"), name="e.toml")
    with pytest.raises(InputError, match='"operations", which package "p" cannot report'):
        check_metrics_can_come(own, [facts.name], where="e.toml")


@pytest.mark.parametrize("script", ["run.sh", "collect.sh", "setup.sh"])
def test_a_script_that_is_not_executable_is_named_with_the_remedy(tmp_path: Path, script: str) -> None:
    path = make_package(tmp_path / "p")
    (path / script).write_text("#!/bin/sh\n")
    (path / script).chmod(0o644)
    with pytest.raises(InputError, match=f"chmod \\+x {script}"):
        inspect(path)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (member("../evil"), "a path with .."),
        (member("a/../../evil"), "a path with .."),
        (member("/etc/passwd"), "an absolute path"),
        (member("link", tarfile.SYMTYPE, "/etc/passwd"), "leads outside"),
        (member("a/link", tarfile.SYMTYPE, "../../evil"), "leads outside"),
        (member("a/link", tarfile.LNKTYPE, "../evil"), "leads outside"),
        (member("pipe", tarfile.FIFOTYPE), "a device, socket or pipe"),
        (member("disk", tarfile.BLKTYPE), "a device, socket or pipe"),
    ],
)
def test_an_unsafe_member_is_refused_by_name(tmp_path: Path, bad: tarfile.TarInfo, words: str) -> None:
    with pytest.raises(InputError, match=words):
        inspect(make_archive(tmp_path / "p.tar.gz", [bad]))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("data", "data"), 'two members are called "data"'),
        (("run.sh",), 'two members are called "run.sh"'),
        (("data", "./data/more"), 'lies below "data", which is not a folder'),
        (("data/more", "data"), 'two members are called "data"'),
        (("n" * 256,), "longer than the 255 bytes"),
    ],
)
def test_what_no_worker_unpacks_is_refused_before_it_is_sent(
    tmp_path: Path, names: tuple[str, ...], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        inspect(make_archive(tmp_path / "p.tar.gz", [member(name, size=3) for name in names]))


def test_a_folder_may_be_named_again_and_after_what_is_in_it(tmp_path: Path) -> None:
    folder = member("data", tarfile.DIRTYPE)
    archive = make_archive(tmp_path / "p.tar.gz", [member("data/more", size=3), folder, folder])
    assert inspect(archive).size_bytes > 3


def test_links_within_the_package_are_accepted(tmp_path: Path) -> None:
    links = [
        member("a/data", size=3),
        member("a/link", tarfile.SYMTYPE, "../run.sh"),
        member("b/hard", tarfile.LNKTYPE, "a/data"),
    ]
    assert inspect(make_archive(tmp_path / "p.tar.gz", links)).files == 5


def test_a_package_that_is_too_large_is_refused_with_the_limit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="larger than allowed"):
        inspect(make_archive(tmp_path / "p.tar.gz", [member("big", size=5000)]), package_bytes=4999)
    with pytest.raises(InputError, match="larger than allowed"):
        inspect(make_archive(tmp_path / "q.tar.gz", [member(f"f{n}") for n in range(10)]), package_files=9)


@pytest.mark.parametrize("content", [b"", b"not an archive", b"\x1f\x8b\x08\x00 torn"])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p.tar.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a readable"):
        inspect(path)


def unpack(path: Path) -> bytes | None:
    """What is in a `.gz`, None where that is not as it was packed; some bits of it mean nothing."""
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error):
        return None


def test_an_archive_that_was_cut_off_or_damaged_anywhere_is_refused(tmp_path: Path) -> None:
    whole = make_archive(tmp_path / "p.tar.gz", [member("data", size=3000)])
    content, part = whole.read_bytes(), tmp_path / "q.tar.gz"
    assert inspect(whole).files == 3
    for length in range(len(content)):
        part.write_bytes(content[:length])
        with pytest.raises(InputError, match="not a readable"):
            inspect(part)
    for place in range(len(content)):
        part.write_bytes(content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :])
        if unpack(part) != unpack(whole):
            with pytest.raises(InputError):
                inspect(part)
    part.write_bytes(content + b"and more")
    with pytest.raises(InputError, match="not a readable"):
        inspect(part)


@pytest.mark.parametrize(
    ("body", "words"),
    [("", "#! line"), ("echo hi\n", "#! line"), ("#!/bin/sh\r\ntrue\r\n", "Windows line endings")],
)
def test_a_script_that_cannot_be_executed_is_refused_before_anything_runs(
    tmp_path: Path, body: str, words: str
) -> None:
    path = make_package(tmp_path / "p")
    (path / "run.sh").write_bytes(body.encode())
    with pytest.raises(InputError, match=words):
        inspect(path)
    with tarfile.open(tmp_path / "p.tar.gz", "w:gz") as tar:
        tar.add(path, arcname=".")
    with pytest.raises(InputError, match=words):
        inspect(tmp_path / "p.tar.gz")


def test_a_program_may_stand_in_for_a_script(tmp_path: Path) -> None:
    path = make_package(tmp_path / "p")
    (path / "run.sh").write_bytes(Path("/bin/true").read_bytes())
    assert inspect(path).files == 2


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not there"):
        inspect(tmp_path / "nowhere")


def test_a_folder_of_a_thousand_levels_is_refused_in_words(tmp_path: Path) -> None:
    package = make_package(tmp_path / "p")
    before = Path.cwd()
    try:
        os.chdir(package)
        for _ in range(1100):
            Path("d").mkdir()
            os.chdir("d")
        os.chdir(before)
        with pytest.raises(InputError, match=r"d/d/d/d.* lies more than 128 folders deep") as caught:
            inspect_package("p", package, Limits())
        assert caught.value.remedy
    finally:
        os.chdir(before)
        # Python's own removal, which clears the folders of earlier tests, does not reach so deep.
        subprocess.run(["rm", "-rf", package], check=True)


def test_an_archive_of_a_thousand_levels_is_refused_in_words(tmp_path: Path) -> None:
    archive = tmp_path / "p.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(make_package(tmp_path / "p"), arcname=".")
        tar.addfile(tarfile.TarInfo("d/" * 1100 + "f"), io.BytesIO())
    with pytest.raises(InputError, match="lies more than 128 folders deep"):
        inspect_package("p", archive, Limits())
