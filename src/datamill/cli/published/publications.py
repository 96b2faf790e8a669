"""`datamill publications`: results that were published, one of them with its answer, its archive."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import click
from rich import box
from rich.table import Table
from rich.text import Text

from datamill.cli.console import make_table_console, name_command, print_clean
from datamill.cli.coordinator.coordinator_client import CoordinatorClient, connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.json_answer import spell_answer
from datamill.cli.members.moments import format_day
from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns
from datamill.protocol.api.publications import PublicationLine, PublishedAnswer

#: Publications in one answer of the API.
_PAGE = 100
#: A coordinator that has to read archives takes a while.
_WAIT_S = 600.0


@click.command()
@click.argument("publication", metavar="KEY", required=False)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write its archive to FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@coordinator_options
def publications(
    publication: str | None, out: Path | None, as_json: bool, url: str | None, key: str | None
) -> None:
    """List what was published, or tell what the publication KEY answers and how it is cited.

    With --out the archive is written as well, an RO-Crate: datamill reproduce FILE --run runs its experiment
    again here and compares both. Its digest is checked.
    """
    if publication is None:
        if out is not None:
            raise click.UsageError("which publication? Type: datamill publications KEY --out FILE")
        with connect(url, key) as coordinator:
            _print_list(list(list_publications(coordinator)), as_json=as_json)
        return
    path = f"/publications/{quote_key(publication)}"
    with connect(url, key) as coordinator:
        line = coordinator.get(path, PublicationLine)
        said = coordinator.get(f"{path}/answer", PublishedAnswer)
        if out is not None:
            _take_archive(coordinator, path, said.sha256, out)
    if as_json:
        answer = [said.headline, *said.details]
        click.echo(spell_answer(*answer, publications=(line,), warnings=said.warnings))
        return
    for text in (line.title, "", said.headline, *said.details, *said.mattered):
        print_clean(text)
    for warning in said.warnings:
        print_clean(f"Warning: {warning}")
    machines = count_nouns(len(said.machines), "machine")
    print_clean(f"\n{count_nouns(said.trials, 'trial')} on {machines}; {said.method}, n = {said.n}")
    print_clean(line.citation.strip())
    if out is not None:
        print_clean(f"{out}: try {name_command()} reproduce {out} --run")


def list_publications(coordinator: CoordinatorClient) -> Iterator[PublicationLine]:
    """Yield all publications, the latest first, a page at a time."""
    after = ""
    while True:
        page = coordinator.get("/publications", list[PublicationLine], after=after)
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1].key


def quote_key(publication: str) -> str:
    """Return the key of a publication as an address has it; its address is taken as well.

    Raises:
        InputError: when it cannot be one.
    """
    key = publication.rstrip("/").rpartition("/")[2]
    if not key:
        raise InputError("this is not the key of a publication", remedy="datamill publications lists them.")
    return quote(key, safe="")


def _take_archive(coordinator: CoordinatorClient, path: str, sha256: str, out: Path) -> None:
    part = out.with_name(f"{out.name}.part")
    found = hashlib.sha256()
    if out.exists():
        raise InputError("the file exists", where=str(out), remedy="Name another one with --out.")
    try:
        with coordinator.stream_made(f"{path}/archive", _WAIT_S) as answer, part.open("wb") as handle:
            for piece in answer.iter_bytes(1 << 20):
                found.update(piece)
                handle.write(piece)
        if found.hexdigest() != sha256:
            raise InputError("what came is not what was published", where=str(out), remedy="Try again.")
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def _print_list(found: list[PublicationLine], *, as_json: bool) -> None:
    told = f"{count_nouns(len(found), 'publication')} on this coordinator"
    if as_json:
        click.echo(spell_answer(f"{told}.", publications=found))
        return
    if not found:
        print_clean(f"Nothing is published here yet: {name_command()} publish ID --author NAME")
        return
    table = Table(box=box.SIMPLE, pad_edge=False)
    for header in ("key", "published", "ID", "title", "result"):
        table.add_column(header, no_wrap=header in ("key", "published"), overflow="fold")
    for item in found:
        result = f"withdrawn: {item.withdrawn}" if item.withdrawn else item.headline
        table.add_row(
            item.key,
            format_day(item.published_unix_s),
            str(item.experiment),
            Text(item.title),
            Text(result if item.intact or item.withdrawn else "its archive is damaged"),
        )
    make_table_console().print(table)
