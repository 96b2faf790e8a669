"""How files of a crate are described: what each is, in which form, and whether an execution made it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

#: What stands in the metadata: a name with its values.
Entity = dict[str, object]

#: Descriptions of files, by their names or the folders that they are in.
_WORDS = {
    "bundle.json": "What the bundle holds: packages with their digests.",
    "experiment.toml": "The question: packages, factors, responses and replication, as given.",
    "design.json": "The plan: all trials in their order, fixed before there were data.",
    "log.jsonl": "What happened: a record of each trial, a line each, with a checksum.",
    "attempts.jsonl": "Which machine made each attempt, and which attempt counts.",
    "fleet.json": "Which machines took part, with what is known of each.",
    "late.jsonl": "Records that arrived after another attempt had counted; they never count.",
    "debug.jsonl": "Records of trials before the design; they never count.",
    "profiles.json": "Which profiles there are, of which builds, and which trials measured these.",
    "decisions.jsonl": "What each look at a sequential experiment decided.",
    "screening.json": "What the screening before this experiment found.",
    "main.toml": "The experiment that this screening comes before.",
    "table.csv": "The tidy table: a row for each observation, with its validity.",
    "table.parquet": "The tidy table: a row for each observation, with its validity.",
    "report.html": "The report: the answer with its intervals and figures.",
    "README.md": "How to look at the result, and how to run the experiment again.",
    "CITATION.cff": "How to cite the result.",
    "packages": "A program that was measured, with its scripts.",
    "loads": "A program that ran in the background.",
    "factors": "A factor that the experiment brought along.",
}
_FORMATS = {
    ".json": "application/json", ".jsonl": "application/jsonl", ".toml": "application/toml",
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet", ".html": "text/html", ".md": "text/markdown",
    ".cff": "application/yaml", ".gz": "application/gzip",
}  # fmt: skip
_UNKNOWN_FORMAT = "application/octet-stream"
_ARTIFACTS = "artifacts/"
#: What an execution makes; it was given the rest, but for what the crate says of itself.
_MADE = {
    "log.jsonl", "attempts.jsonl", "table.csv", "table.parquet", "report.html", "decisions.jsonl",
    "fleet.json", "late.jsonl", _ARTIFACTS,
}  # fmt: skip
_OF_THE_CRATE = ("README.md", "CITATION.cff")


@dataclass(frozen=True, slots=True)
class CrateFile:
    """A file that a crate holds, below its root."""

    name: str
    size_bytes: int
    sha256: str


def is_artifact(file: CrateFile) -> bool:
    """Tell whether a file is one of those that trials left, of which there may be very many."""
    return file.name.startswith(_ARTIFACTS)


def was_made(name: str) -> bool:
    """Tell whether an execution made the file or folder of this name."""
    return name in _MADE


def was_given(name: str) -> bool:
    """Tell whether an execution was given the file of this name: all else but what is about the crate."""
    return name not in _MADE and name not in _OF_THE_CRATE


def describe_file(file: CrateFile) -> Entity:
    """Return a file as an entity.

    A package is a file like others: the profile wants software to have an address on the web, which an
    archive in a crate has not.
    """
    top = file.name.partition("/")[0]
    suffix = file.name[file.name.rfind(".") :] if "." in file.name else ""
    return {
        "@id": quote(file.name),
        "@type": "File",
        "name": file.name,
        "description": _WORDS.get(file.name) or _WORDS.get(top) or "A file of the bundle.",
        "contentSize": str(file.size_bytes),
        "sha256": file.sha256,
        "encodingFormat": _FORMATS.get(suffix, _UNKNOWN_FORMAT),
    }


def describe_artifacts(count: int) -> Entity:
    """Return what trials left as one entity, the folder of so many files."""
    return {
        "@id": _ARTIFACTS,
        "@type": "Dataset",
        "name": "artifacts",
        "description": f"What trials printed and collected, a folder for each attempt: {count} files.",
    }
