"""A bundle as a research object: what is written, what is taken back, and what is refused."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from made.synthetic import fit_record, make_bundle_folder, make_record

from datamill.experiment.errors import InputError
from datamill.results.bundles.opening import open_bundle
from datamill.results.crates import reading
from datamill.results.crates.description import Description, describe, describe_unpublished
from datamill.results.crates.metadata import METADATA_FILE
from datamill.results.crates.reading import is_crate, open_bundle_folder, unpack_crate
from datamill.results.crates.writing import write_crate

Change = Callable[[dict[str, bytes]], None]


def make_description() -> Description:
    return describe("Which is faster?", "Doe, Jane\nThe Lab", "CC-BY-4.0", now_s=1.8e9)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    make_bundle_folder(folder)
    # The packages are empty files.
    head = folder / "bundle.json"
    head.write_text(head.read_text().replace("0" * 64, hashlib.sha256(b"").hexdigest()))
    made = open_bundle(folder)
    made.append_records([fit_record(make_record(trial.trial_id), made) for trial in made.design.trials])
    (folder / "artifacts" / "t00001.1").mkdir(parents=True)
    (folder / "artifacts" / "t00001.1" / "run stdout").write_text("printed")
    (folder / "artifacts" / "t00001.1" / "passwords").symlink_to("/etc/passwd")
    (folder / ".work").mkdir()
    (folder / ".work" / "scratch").write_text("scratch")
    return folder


@pytest.fixture
def crate(bundle: Path) -> Path:
    target = bundle.parent / "made.zip"
    write_crate(bundle, target, make_description())
    return target


def rewrite(crate: Path, change: Change) -> Path:
    """Write the crate again with other content."""
    with zipfile.ZipFile(crate) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    change(files)
    other = crate.with_name("other.zip")
    with zipfile.ZipFile(other, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return other


def test_what_is_taken_back_is_the_bundle_that_was_given(bundle: Path, crate: Path) -> None:
    assert is_crate(crate)
    unpack_crate(crate, bundle.parent / "back")
    back = open_bundle(bundle.parent / "back")
    assert back.read_records() == open_bundle(bundle).read_records()
    assert (back.folder / "artifacts" / "t00001.1" / "run stdout").read_text() == "printed"
    assert not (back.folder / "artifacts" / "t00001.1" / "passwords").exists()
    assert not (back.folder / ".work").exists()
    with open_bundle_folder(crate) as folder:
        assert open_bundle(folder).experiment == back.experiment
    assert not folder.exists()


def test_the_metadata_name_every_file_with_its_digest_and_the_execution(crate: Path) -> None:
    with zipfile.ZipFile(crate) as archive:
        graph = {item["@id"]: item for item in json.loads(archive.read(METADATA_FILE))["@graph"]}
        names = {name for name in archive.namelist() if "artifacts/" not in name and not name.endswith("/")}
    root, action = graph["./"], graph["#execution"]
    assert graph[METADATA_FILE]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert (root["name"], root["datePublished"]) == ("Which is faster?", "2027-01-15")
    assert {part["@id"] for part in root["hasPart"]} == names - {METADATA_FILE} | {"artifacts/"}
    assert all(len(graph[name]["sha256"]) == 64 for name in names - {METADATA_FILE})
    assert [graph[item["@id"]]["name"] for item in root["author"]] == ["Jane Doe", "The Lab"]
    assert {"@id": "log.jsonl"} in action["result"]
    assert {"@id": "experiment.toml"} in action["object"]
    assert all(item["@id"] in graph for item in (*action["object"], *action["result"], action["agent"]))
    assert action["actionStatus"] == "http://schema.org/CompletedActionStatus"


def read_graph(crate: Path) -> dict[str, dict[str, object]]:
    with zipfile.ZipFile(crate) as archive:
        return {item["@id"]: item for item in json.loads(archive.read(METADATA_FILE))["@graph"]}


def test_an_organisation_publishes_a_crate_and_its_authors_work_there(bundle: Path) -> None:
    said = describe("t", "Doe, Jane", "MIT", now_s=1.8e9, organisation="The Lab <https://lab.example>")
    write_crate(bundle, bundle.parent / "made.zip", said)
    graph = read_graph(bundle.parent / "made.zip")
    assert graph["https://lab.example"]["name"] == "The Lab"
    assert graph["./"]["publisher"] == graph["#author-1"]["affiliation"] == {"@id": "https://lab.example"}
    # One alone stands without a list.
    assert graph["./"]["author"] == {"@id": "#author-1"}


def test_a_crate_without_a_licence_says_so(bundle: Path) -> None:
    write_crate(bundle, bundle.parent / "made.zip", describe_unpublished("t", "ada", now_s=1.8e9))
    graph = read_graph(bundle.parent / "made.zip")
    assert graph["./"]["license"] == {"@id": "#licence"}
    assert graph["#licence"]["name"] == "No licence"
    with zipfile.ZipFile(bundle.parent / "made.zip") as archive:
        assert b"license" not in archive.read("CITATION.cff")


def test_every_file_has_its_form_and_is_given_or_made_or_about_the_crate(bundle: Path, crate: Path) -> None:
    (bundle / "late.jsonl").write_bytes(b"")
    (bundle / "factors" / "turbo").mkdir(parents=True)
    (bundle / "factors" / "turbo" / "set").write_bytes(b"")
    write_crate(bundle, crate, make_description())
    graph = read_graph(crate)
    files = {name for name, item in graph.items() if item["@type"] == "File"}
    assert all(graph[name]["encodingFormat"] for name in files)
    assert graph["factors/turbo/set"]["encodingFormat"] == "application/octet-stream"
    given, made = (
        {item["@id"] for item in graph["#execution"][what]}  # type: ignore[index,attr-defined]
        for what in ("object", "result")
    )
    assert "late.jsonl" in made
    assert "factors/turbo/set" in given
    assert given | made | {"README.md", "CITATION.cff"} == files | {"artifacts/"}
    assert not given & made


def test_equal_bundles_make_equal_crates_and_parts_can_be_held_back(bundle: Path, crate: Path) -> None:
    again, less = bundle.parent / "again.zip", bundle.parent / "less.zip"
    write_crate(bundle, again, make_description())
    assert again.read_bytes() == crate.read_bytes()
    write_crate(bundle, less, make_description(), held_back=("artifacts",))
    with zipfile.ZipFile(less) as archive:
        assert not any(name.startswith("artifacts") for name in archive.namelist())
    unpack_crate(less, bundle.parent / "back")


def test_a_bundle_that_measured_nothing_is_no_result_to_hand_on(tmp_path: Path) -> None:
    make_bundle_folder(tmp_path / "empty")
    with pytest.raises(InputError, match="nothing was measured"):
        write_crate(tmp_path / "empty", tmp_path / "made.zip", make_description())
    assert not list(tmp_path.glob("*made*"))


CHANGES: dict[str, tuple[Change, str]] = {
    "a number": (
        lambda files: files.update({"log.jsonl": files["log.jsonl"].replace(b"1", b"2", 1)}),
        "log.jsonl is not what the metadata",
    ),
    "a lost file": (lambda files: files.pop("design.json") and None, "design.json is missing"),
    "no metadata": (lambda files: files.pop(METADATA_FILE) and None, f"{METADATA_FILE} is missing"),
    "no bundle": (lambda files: files.pop("bundle.json") and None, "bundle.json is missing"),
    "metadata of nothing": (lambda files: files.update({METADATA_FILE: b'{"@graph": []}'}), "do not say"),
    "metadata in pieces": (lambda files: files.update({METADATA_FILE: b'{"@graph": [}'}), "cannot be read"),
    "outside": (lambda files: files.update({"../../evil": b"x"}), "not a plain file"),
    "absolute": (lambda files: files.update({"/tmp/evil": b"x"}), "not a plain file"),
    "another system's": (lambda files: files.update({"a\\..\\evil": b"x"}), "not a plain file"),
    "twice by case": (lambda files: files.update({"LOG.jsonl": b"x"}), "or twice"),
    "in the way": (lambda files: files.update({"experiment.toml/x": b"x"}), "in each other's way"),
    "a name without end": (lambda files: files.update({"x" * 2000: b"x"}), "not a plain file"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_crate_that_somebody_changed_is_refused_and_leaves_nothing(crate: Path, case: str) -> None:
    change, words = CHANGES[case]
    other = rewrite(crate, change)
    before = set(crate.parent.iterdir())
    with pytest.raises(InputError, match=words) as caught:
        unpack_crate(other, crate.parent / "back")
    assert caught.value.remedy
    assert set(crate.parent.iterdir()) == before


def test_a_link_in_a_crate_is_refused(crate: Path) -> None:
    with zipfile.ZipFile(crate, "a") as archive:
        link = zipfile.ZipInfo("artifacts/link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(InputError, match="not a plain file"):
        unpack_crate(crate, crate.parent / "back")


def test_a_crate_that_was_cut_off_or_overwritten_is_damaged(crate: Path) -> None:
    whole = crate.read_bytes()
    middle = whole.index(b"log.jsonl") + 40
    crate.write_bytes(whole[:middle] + bytes(len(whole[middle : middle + 60])) + whole[middle + 60 :])
    with pytest.raises(InputError, match=r"damaged|not what the metadata"):
        unpack_crate(crate, crate.parent / "back")
    # Half a download is told as such, not read as an experiment file.
    crate.write_bytes(whole[: len(whole) // 2])
    assert is_crate(crate)
    with pytest.raises(InputError, match="damaged"), open_bundle_folder(crate):
        pass


def test_what_unpacks_to_more_than_there_is_room_for_is_refused_before_it_is(
    crate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_MOST_BYTES", 1000)
    with pytest.raises(InputError, match="unpacked it would take"):
        unpack_crate(crate, crate.parent / "back")


def test_a_member_that_holds_more_than_it_says_is_refused(crate: Path) -> None:
    other = rewrite(crate, lambda files: files.update({"artifacts/more": b"x" * 999}))
    content = bytearray(other.read_bytes())
    # In the directory at the end: 24 bytes behind the beginning of an entry, whose name is behind 46.
    at = content.rindex(b"artifacts/more") - 46 + 24
    assert content[at : at + 4] == (999).to_bytes(4, "little")
    content[at : at + 4] = (5).to_bytes(4, "little")
    other.write_bytes(content)
    with pytest.raises(InputError, match=r"longer than it says|damaged"):
        unpack_crate(other, crate.parent / "back")


def test_a_package_that_was_exchanged_together_with_its_digest_is_found(crate: Path) -> None:
    def exchange(files: dict[str, bytes]) -> None:
        name = next(item for item in files if item.startswith("packages/"))
        metadata = json.loads(files[METADATA_FILE])
        files[name] = b"another program"
        entity = next(item for item in metadata["@graph"] if item["@id"] == name)
        entity["sha256"] = hashlib.sha256(files[name]).hexdigest()
        files[METADATA_FILE] = json.dumps(metadata).encode()

    with pytest.raises(InputError, match="is not what was measured"):
        unpack_crate(rewrite(crate, exchange), crate.parent / "back")
