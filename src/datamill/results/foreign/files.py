"""Foreign files from disk: their content, what belongs to them, and labels that tell them apart."""

from __future__ import annotations

import gzip
import hashlib
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.results.foreign.content import Content, decode_text

STANDARD_INPUT = Path("-")
_GZIP_MARK = b"\x1f\x8b"
#: Content of no format's folder; its files are in `Content.beside`.
_NO_TEXT = ""
#: What is in asv's files of results, and in none of its others.
_ASV_MARK = b'"result_columns"'


def load_content(path: Path) -> tuple[Content, str]:
    """Return a file's content and a digest of it; `-` is standard input; a folder is criterion's or asv's.

    `benchmarks.json` above asv's results and `benchmark.json` beside criterion's `sample.json` come
    with it.

    Raises:
        InputError: there is no such file, it is empty or not text, or a folder is neither criterion's nor
            one of asv's that holds the results of one commit.
        OSError: a file cannot be read.
    """
    if path == STANDARD_INPUT:
        data = _unpack(sys.stdin.buffer.read(), "standard input")
        return Content("standard input", decode_text(data, "standard input")), _digest(data)
    if path.is_dir():
        return _load_folder(path)
    if not path.is_file():
        raise InputError("there is no such file", where=str(path), remedy="Check the path.")
    data = _read_bytes(path)
    content = Content(str(path), decode_text(data, str(path)), _load_beside(path, data))
    return content, _digest(data)


def label_files(paths: Sequence[Path]) -> list[str]:
    """Return a label for each path: its stem, with as much of the folders as tells all of them apart.

    Raises:
        InputError: a file is given twice.
    """
    resolved = [Path("stdin") if path == STANDARD_INPUT else path.resolve() for path in paths]
    for index, path in enumerate(resolved):
        if path in resolved[:index]:
            raise InputError("the file is given twice", where=str(paths[index]), remedy="Give it once.")
    labels = [path.name.removesuffix(".gz").partition(".")[0] or path.name for path in resolved]
    if len(set(labels)) < len(labels):
        labels = [path.name for path in resolved]
    depth = 2
    while len(set(labels)) < len(labels):
        labels = ["/".join(path.parts[-depth:]) for path in resolved]
        depth += 1
    return labels


def _read_bytes(path: Path) -> bytes:
    return _unpack(path.read_bytes(), str(path))


def _unpack(data: bytes, source: str) -> bytes:
    """Return the content of what is compressed with gzip, and anything else as it is."""
    if not data.startswith(_GZIP_MARK):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error):
        raise InputError(
            "the compressed file is not whole", where=source, remedy="Copy it again, or measure again."
        ) from None


def _load_beside(path: Path, data: bytes) -> dict[str, str]:
    if path.name == "sample.json":
        return _load_texts([path, path.with_name("benchmark.json")])
    about = path.parent.parent / "benchmarks.json"
    if _ASV_MARK in data and about.is_file():
        return {"benchmarks.json": decode_text(_read_bytes(about), str(about))}
    return {}


def _load_folder(folder: Path) -> tuple[Content, str]:
    samples = sorted(path for path in folder.rglob("sample.json") if path.is_file())
    if not samples:
        return load_content(_find_results_of_asv(folder))
    beside = _load_texts([*samples, *(path.with_name("benchmark.json") for path in samples)])
    return Content(str(folder), _NO_TEXT, beside), _digest("".join(beside.values()).encode())


def _find_results_of_asv(folder: Path) -> Path:
    """The one file of results in a folder of asv; its files on machines and benchmarks are passed over."""
    found = [
        path for path in sorted(folder.rglob("*.json")) if path.is_file() and _ASV_MARK in path.read_bytes()
    ]
    if not found:
        raise InputError(
            "this is a folder, and not one of results of criterion or asv",
            where=str(folder),
            remedy="Give the files in it; of criterion, the folder target/criterion.",
        )
    if len(found) > 1:
        raise InputError(
            f"this folder holds the results of {len(found)} runs of asv",
            where=str(folder),
            remedy="Give the file of one, in a folder below it.",
        )
    return found[0]


def _load_texts(paths: Sequence[Path]) -> dict[str, str]:
    return {str(path): decode_text(_read_bytes(path), str(path)) for path in paths if path.is_file()}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:8]
