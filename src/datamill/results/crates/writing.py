"""A bundle written as an RO-Crate: one zip file, of which nothing is held in memory."""

from __future__ import annotations

import hashlib
import os
import stat
import zipfile
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.results.bundles.opening import open_bundle
from datamill.results.crates.citation import cite_as_cff
from datamill.results.crates.crate_files import CrateFile
from datamill.results.crates.description import Description
from datamill.results.crates.metadata import METADATA_FILE, CrateFacts, write_metadata

#: What of a bundle's folder a crate holds; scratch, locks and what may hold names of others stay away.
_FILES = (
    "bundle.json", "experiment.toml", "design.json", "log.jsonl", "attempts.jsonl", "fleet.json",
    "late.jsonl", "decisions.jsonl", "screening.json", "main.toml", "table.parquet",
    "table.csv", "report.html",
)  # fmt: skip
_FOLDERS = ("packages", "loads", "factors", "artifacts")
_PIECE_BYTES = 1 << 20
#: These are packed already.
_PACKED = (".gz", ".parquet", ".png", ".zip", ".zst", ".xz", ".bz2")
#: The time that members bear, so that equal content makes equal files.
_MOMENT = (1980, 1, 1, 0, 0, 0)
_README = """# {title}

This archive is a research object (RO-Crate {crate}): a performance experiment with all that it produced.
`report.html` says what came out, `table.csv` has all observations, `experiment.toml` the question.

To run it again on your machine, and to see whether the result is reproduced, type in this folder:

    datamill reproduce . --run

Where the archive is not unpacked, write its name instead of the dot. To look at the result with other
questions: `datamill report .` or `datamill analyze summary .`. To check every file and unpack them:
`datamill import ARCHIVE`.
"""


def write_crate(
    folder: Path, target: Path, description: Description, *, held_back: Collection[str] = ()
) -> CrateFacts:
    """Write the bundle in a folder as a crate; `held_back` names folders that stay away, such as `artifacts`.

    The file appears when it is whole.

    Raises:
        InputError: the folder is no bundle, or one that is damaged; the log is read and checked whole.
        OSError: the disk is full.
    """
    facts = read_facts(folder)
    partial = target.with_name(f".{target.name}.part")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
            for top in _FOLDERS:
                # Readers look for the folder that the metadata name.
                if top not in held_back and (folder / top).is_dir() and any((folder / top).iterdir()):
                    archive.writestr(_describe_member(f"{top}/", stat.S_IFDIR | 0o755), b"")
            files = [_add_path(archive, name, path) for name, path in _list_files(folder, held_back)]
            readme = _README.format(title=description.title.replace("\n", " "), crate="1.1")
            files.append(_add(archive, "README.md", [readme.encode()]))
            files.append(_add(archive, "CITATION.cff", [cite_as_cff(description).encode()]))
            _add(archive, METADATA_FILE, [write_metadata(description, facts, files)])
        with partial.open("rb") as handle:
            os.fsync(handle.fileno())
        partial.replace(target)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    return facts


def read_facts(folder: Path) -> CrateFacts:
    """Read of a bundle what its metadata tell, and check its log on the way.

    Raises:
        InputError: the folder is no bundle, or one that is damaged.
    """
    bundle = open_bundle(folder)
    records = bundle.read_records()
    ended = {record.trial_id for record in records}
    trials = [trial.trial_id for trial in bundle.design.trials]
    machines = set() if bundle.judged is None else {attempt.machine for attempt in bundle.judged.attempts}
    facts = CrateFacts(
        experiment=bundle.experiment.name,
        version=bundle.head.datamill,
        started_unix_s=min((record.started_unix_ns for record in records), default=0) / 1e9,
        ended_unix_s=max((record.ended_unix_ns for record in records), default=0) / 1e9,
        machines=tuple(sorted(machines)),
        trials=len(ended),
        complete=ended.issuperset(trials) or bundle.experiment.until is not None,
    )
    if not records:
        raise InputError(
            "nothing was measured yet", where=str(folder), remedy="Run the experiment first: datamill run."
        )
    return facts


def list_content(folder: Path, held_back: Collection[str] = ()) -> list[tuple[str, int]]:
    """Return names and sizes of what a crate of this folder would hold, apart from its own files."""
    return [(name, path.stat().st_size) for name, path in _list_files(folder, held_back)]


def _list_files(folder: Path, held_back: Collection[str]) -> Iterator[tuple[str, Path]]:
    for name in _FILES:
        path = folder / name
        if name not in held_back and path.is_file() and not path.is_symlink():
            yield name, path
    for top in _FOLDERS:
        if top in held_back:
            continue
        for path in sorted((folder / top).rglob("*")):
            # What packages left may be links to anything.
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(folder).as_posix(), path


def _describe_member(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _MOMENT)
    info.external_attr = mode << 16
    return info


def _add_path(archive: zipfile.ZipFile, name: str, path: Path) -> CrateFile:
    def read() -> Iterator[bytes]:
        with path.open("rb") as handle:
            while piece := handle.read(_PIECE_BYTES):
                yield piece

    return _add(archive, name, read())


def _add(archive: zipfile.ZipFile, name: str, pieces: Iterator[bytes] | list[bytes]) -> CrateFile:
    info = _describe_member(name, stat.S_IFREG | 0o644)
    info.compress_type = zipfile.ZIP_STORED if name.endswith(_PACKED) else zipfile.ZIP_DEFLATED
    digest, found = hashlib.sha256(), CrateFile(name, 0, "")
    with archive.open(info, "w", force_zip64=True) as member:
        for piece in pieces:
            member.write(piece)
            digest.update(piece)
            found = replace(found, size_bytes=found.size_bytes + len(piece))
    return replace(found, sha256=digest.hexdigest())
