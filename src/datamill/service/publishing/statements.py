"""What a publication says, fixed when it was made; inferred in a process of its own with its archive."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import msgspec

from datamill.results.crates.description import Description
from datamill.results.crates.writing import list_content, write_crate
from datamill.service.bounded_work.child import Budget

#: An archive may take so much: all artifacts are in it.
MAKING = Budget(
    memory_bytes=2 << 30,
    cpu_s=600,
    elapsed_s=1800.0,
    file_bytes=64 << 30,
    remedy="Publish it without what trials printed and collected.",
    draws=True,
    takes_turns=True,
)
_PIECE_BYTES = 1 << 20


class PublishedPart(msgspec.Struct, frozen=True):
    """A file of the archive, or a folder with its number of files."""

    name: str
    files: int
    size_bytes: int


class PublishedStatement(msgspec.Struct, frozen=True):
    """What the result is, in the words of its report; `picture` is markup of its figure, an SVG by itself."""

    experiment: str
    question: str
    headline: str
    details: tuple[str, ...]
    mattered: tuple[str, ...]
    warnings: tuple[str, ...]
    n: int
    method: str
    trials: int
    machines: tuple[str, ...]
    version: str
    parts: tuple[PublishedPart, ...]
    held_back: tuple[str, ...]
    was_public: bool = False  # its experiment, before
    picture: str = ""
    picture_title: str = ""
    picture_caption: str = ""
    picture_svg: str = ""
    short: str = ""  # the headline in a few words; empty where there are none


class MadeArchive(msgspec.Struct, frozen=True):
    """An archive that was written, and what it says."""

    sha256: str
    size_bytes: int
    statement: PublishedStatement


def make_archive(
    folder: str, target: str, description: Description, held_back: tuple[str, ...]
) -> MadeArchive:
    """Write the bundle in a folder as an archive, with table and report; runs in a process of its own.

    Raises:
        InputError: the bundle is damaged, or nothing was measured.
    """
    # Statistics take a second to load, and memory that the coordinator need not have.
    from datamill.report.experiment.experiment_answer import shorten_answer
    from datamill.report.figures.figure import title_chart, write_figure
    from datamill.results.bundles.opening import open_bundle
    from datamill.results.tables.csv_files.formula_cells import mark_cells
    from datamill.service.answers.drawing import draw_views
    from datamill.verbs.answer import answer_records

    home, file = Path(folder), Path(target)
    bundle = open_bundle(home)
    records = bundle.read_records()
    table = bundle.build_table(records)
    mark_cells(table).write_csv(home / "table.csv")
    table.write_parquet(home / "table.parquet")
    found = answer_records(bundle, records, table)
    (home / "report.html").write_text(found.report(), encoding="utf-8")
    words = found.answer
    facts = write_crate(home, file, description, held_back=held_back)
    statement = PublishedStatement(
        experiment=facts.experiment,
        question=words.question,
        headline=words.headline,
        details=words.details,
        mattered=words.mattered,
        warnings=words.warnings,
        n=words.n,
        method=words.method,
        trials=facts.trials,
        machines=facts.machines,
        version=facts.version,
        parts=_sum_up(list_content(home, held_back)),
        held_back=held_back,
        short=shorten_answer(found.analysis),
    )
    if (figure := found.figure()) is not None:
        view = draw_views([figure])[0]
        drawing = home / "figure.svg"
        write_figure(title_chart(replace(figure)), drawing)
        statement = msgspec.structs.replace(
            statement,
            picture=view.svg,
            picture_title=view.title,
            picture_caption=view.caption,
            picture_svg=drawing.read_text(encoding="utf-8"),
        )
    with file.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    return MadeArchive(digest, file.stat().st_size, statement)


def _sum_up(content: list[tuple[str, int]]) -> tuple[PublishedPart, ...]:
    """Files of the root one by one, folders with what is in them."""
    files: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for name, size in content:
        top, slash, _ = name.partition("/")
        files[top + slash] += 1
        sizes[top + slash] += size
    return tuple(PublishedPart(name, count, sizes[name]) for name, count in files.items())
