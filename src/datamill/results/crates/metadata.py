"""`ro-crate-metadata.json` of a bundle: RO-Crate 1.1 with the profile Process Run Crate 0.5."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from datamill.results.crates.description import LICENCES, Author, Description

METADATA_FILE = "ro-crate-metadata.json"
_CRATE = "https://w3id.org/ro/crate/1.1"
_PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_CONTEXT = (f"{_CRATE}/context", "https://w3id.org/ro/terms/workflow-run/context")
_LICENCE_OF_BUNDLES = "Its parts may be used under this licence."
#: The entity that stands for datamill.
_SOFTWARE = "urn:datamill:software"
_RUN = "#execution"
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
#: Files that an execution makes; the others it was given.
_RESULTS = (
    "log.jsonl", "attempts.jsonl", "table.csv", "table.parquet", "report.html", "decisions.jsonl",
    "fleet.json",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CrateFile:
    """A file that a crate holds, below its root."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class CrateFacts:
    """What of an execution the metadata tell: when it was, where, with which datamill, of how many trials."""

    experiment: str
    version: str
    started_unix_s: float
    ended_unix_s: float
    machines: tuple[str, ...]
    trials: int
    complete: bool


def write_metadata(description: Description, facts: CrateFacts, files: Sequence[CrateFile]) -> bytes:
    """Return the metadata file; what lies in `artifacts/` is one entity, however much it is."""
    listed = [file for file in files if not file.name.startswith("artifacts/")]
    authors = [_describe_author(author, number) for number, author in enumerate(description.authors, 1)]
    parts = [_describe_file(file) for file in listed]
    if len(listed) < len(files):
        parts.append(
            {
                "@id": "artifacts/",
                "@type": "Dataset",
                "name": "artifacts",
                "description": "What trials printed and collected, a folder for each attempt: "
                f"{len(files) - len(listed)} files.",
            }
        )
    action = _describe_run(facts, [str(part["@id"]) for part in parts])
    root: Entity = {
        "@id": "./",
        "@type": "Dataset",
        "name": description.title,
        "description": _describe_root(description, facts),
        "datePublished": description.date,
        "license": {"@id": LICENCES[description.licence]},
        "author": [{"@id": author["@id"]} for author in authors],
        "conformsTo": {"@id": _PROFILE},
        "hasPart": [{"@id": part["@id"]} for part in parts],
        "mentions": {"@id": _RUN},
        "keywords": ["computer performance", "experiment", "datamill"],
    }
    if description.address:
        root |= {"url": description.address, "identifier": description.address}
    graph: list[Entity] = [
        {
            "@id": METADATA_FILE,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": _CRATE},
        },
        root,
        *authors,
        {
            "@id": LICENCES[description.licence],
            "@type": "CreativeWork",
            "name": description.licence,
            "description": _LICENCE_OF_BUNDLES,
        },
        {
            "@id": _PROFILE,
            "@type": "CreativeWork",
            "name": "Process Run Crate",
            "version": "0.5",
        },
        {
            "@id": _SOFTWARE,
            "@type": "SoftwareApplication",
            "name": "datamill",
            "softwareVersion": facts.version,
            "description": "A laboratory for computer performance: it plans, runs and analyses experiments.",
        },
        action,
        *parts,
    ]
    text = json.dumps({"@context": list(_CONTEXT), "@graph": graph}, indent=1, ensure_ascii=False)
    return text.encode() + b"\n"


def _describe_root(description: Description, facts: CrateFacts) -> str:
    machines = ", ".join(facts.machines[:20]) or "one machine"
    told = f"A performance experiment, {facts.experiment}: {facts.trials} trials on {machines}."
    return f"{description.summary} {told}".strip()


def _describe_author(author: Author, number: int) -> Entity:
    if not author.given:
        return {"@id": f"#author-{number}", "@type": "Person", "name": author.family}
    return {
        "@id": f"#author-{number}",
        "@type": "Person",
        "name": author.name,
        "familyName": author.family,
        "givenName": author.given,
    }


def _describe_file(file: CrateFile) -> Entity:
    top, _, rest = file.name.partition("/")
    suffix = file.name[file.name.rfind(".") :] if "." in file.name else ""
    is_program = bool(rest) and top in ("packages", "loads")
    kind: str | list[str] = ["File", "SoftwareSourceCode"] if is_program else "File"
    entity: Entity = {
        "@id": quote(file.name),
        "@type": kind,
        "name": file.name,
        "description": _WORDS.get(file.name) or _WORDS.get(top) or "A file of the bundle.",
        "contentSize": str(file.size_bytes),
        "sha256": file.sha256,
    }
    if is_program:
        entity["version"] = file.sha256[:12]
    if suffix in _FORMATS:
        entity["encodingFormat"] = _FORMATS[suffix]
    return entity


def _describe_run(facts: CrateFacts, names: Sequence[str]) -> Entity:
    made = [name for name in names if name in _RESULTS or name == "artifacts/"]
    given = [name for name in names if name not in made and name not in ("README.md", "CITATION.cff")]
    status = "CompletedActionStatus" if facts.complete else "FailedActionStatus"
    entity: Entity = {
        "@id": _RUN,
        "@type": "CreateAction",
        "name": f"Execution of the experiment {facts.experiment}",
        "description": f"{facts.trials} trials on {', '.join(facts.machines[:20]) or 'one machine'}",
        "instrument": {"@id": _SOFTWARE},
        "agent": {"@id": "#author-1"},
        "object": [{"@id": name} for name in given],
        "result": [{"@id": name} for name in made],
        "actionStatus": f"http://schema.org/{status}",
    }
    if not facts.complete:
        entity["error"] = "Not all planned trials ended."
    if facts.started_unix_s:
        entity["startTime"] = _spell_time(facts.started_unix_s)
    if facts.ended_unix_s:
        entity["endTime"] = _spell_time(facts.ended_unix_s)
    return entity


def _spell_time(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="seconds")
