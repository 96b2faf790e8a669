"""`datamill gate`: does this change slow anything down?"""

from __future__ import annotations

import os
import secrets
import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from datamill.cli.console import make_console, make_table_console, name_command
from datamill.cli.json_answer import spell_answer
from datamill.cli.timing.gate_display import GateDisplay
from datamill.cli.timing.time_options import check_writable, parse_seconds
from datamill.execution.state_folder import find_results_folder, name_results_folder
from datamill.execution.worker import find_worker
from datamill.experiment.errors import InputError
from datamill.experiment.gate.gate import MOST_ALPHA, Benchmark, Gate
from datamill.experiment.gate.gate_file import GATE_FILE, parse_gate
from datamill.experiment.messages.arguments import argument, tell
from datamill.experiment.quantities import parse_share

EXIT_SLOWER = 1
#: Folder in the state folder.
_GATES = "gates"


@click.command(context_settings={"max_content_width": 100})
@click.argument("commands", nargs=-1, metavar="[COMMAND]...")
@click.option("--file", "file", metavar="FILE", help=f"File of the gate [{GATE_FILE}].")
@click.option("--base", metavar="REV", help="What the change is compared with [where it left the main line].")
@click.option("--head", metavar="REV", help="What is judged; uncommitted for the files as they are [HEAD].")
@click.option("--build", metavar="CMD", help="Builds a revision, in the folder where you are.")
@click.option("--within", metavar="DURATION", help="Time for all measurements [5min].")
@click.option("--alpha", metavar="SHARE", help="Chance of a false alarm in the whole run [5%].")
@click.option("--precision", metavar="SHARE", help="Difference that does not matter [1%].")
@click.option("--tolerate", metavar="SHARE", help="Slowdown up to which there is no alarm [0%].")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@click.option(
    "--comment", type=click.Path(path_type=Path), metavar="FILE", help="Also write a comment in Markdown."
)
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Where the page goes.")
@click.option(
    "--history",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Add what was measured of head to a table, for datamill compare --series.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Where comment, page, JSON go.")
@click.option(
    "--seed",
    type=click.IntRange(1, (1 << 53) - 1),
    metavar="N",
    help="Seed of all that is drawn at random [drawn].",
)
def gate(
    commands: tuple[str, ...],
    file: str | None,
    base: str | None,
    head: str | None,
    build: str | None,
    within: str | None,
    alpha: str | None,
    precision: str | None,
    tolerate: str | None,
    as_json: bool,
    comment: Path | None,
    html: Path | None,
    history: Path | None,
    out: Path | None,
    seed: int | None,
) -> None:
    """Say whether a change slows any benchmark down: for pull requests.

    Base and head are checked out and built, again and again in other layouts, and all benchmarks of both
    are executed in turns until each is judged, or the time is over. Benchmarks are COMMANDs, or those of a
    file: commands, packages, or what Google Benchmark, criterion, pytest-benchmark, pyperf, JMH, go test
    -bench or asv write. Builds and benchmarks run in the folder of a checkout that corresponds to the one
    where you are, as those of datamill time --git do. The chance of a false alarm is that of the whole run.

    \b
      datamill gate --build 'make -j2' './prog data' './prog other'
      datamill gate --base origin/main --comment comment.md

    Exit status: 0 when nothing is slower, 1 when something is slower or broken, 2 when nothing could be
    measured, 130 when interrupted before there is an answer.
    """  # noqa: D301 - click needs the backspace itself
    asked = _read_gate(commands, file)
    given: dict[str, object] = {
        name: value for name, value in (("base", base), ("head", head), ("build", build)) if value is not None
    }
    if build is not None:
        given["build_place"] = tell(argument("build", verb="gate"))
    if within is not None:
        given["within_s"] = parse_seconds(within, "within")
    for field, option, text in (("alpha", "alpha", alpha), ("limit", "precision", precision)):
        if text is not None:
            given[field] = parse_share(text, where=f"--{option}")
    if tolerate is not None:
        given["tolerate"] = 0.0 if tolerate in ("0", "0%") else parse_share(tolerate, where="--tolerate")
    asked = replace(asked, **given)  # type: ignore[arg-type]
    if asked.alpha >= MOST_ALPHA:
        raise InputError(
            "the chance of a false alarm must be below 50%", where="--alpha", remedy="Write --alpha 5%."
        )
    raise SystemExit(
        tell_gate(
            asked,
            out or _choose_folder(),
            seed or secrets.randbelow((1 << 53) - 1) + 1,
            as_json=as_json,
            comment=comment,
            html=html,
            history=history,
        )
    )


def tell_gate(
    asked: Gate,
    folder: Path,
    seed: int,
    *,
    as_json: bool,
    comment: Path | None,
    html: Path | None,
    history: Path | None,
) -> int:
    """Run a gate, print its answer, write its files, and return the exit status.

    Raises:
        InputError: when revisions or benchmarks cannot be used, or a file cannot be written.
        WorkerError: when the worker ended.
    """
    from datamill.conduct.gate.conduct_gate import conduct_gate
    from datamill.conduct.gate.history import append_history, check_history
    from datamill.report.gate.comment import write_comment
    from datamill.report.gate.gate_answer import build_gate_answer
    from datamill.report.gate.json import list_gate_values
    from datamill.report.gate.page import build_gate_table, render_gate_page
    from datamill.report.gate.statement import list_sentences, phrase_gate
    from datamill.report.tables.text import render_text

    if history is not None:
        check_history(history)
    _check_places(folder, comment, html)
    with GateDisplay(asked.within_s) as display:
        # Not beside what is written: that is often in the repository, whose files checkouts must not see.
        outcome = conduct_gate(asked, Path.cwd(), _find_gates(), find_worker(), seed, display)
    answer = build_gate_answer(
        outcome.gate,
        outcome.verdicts,
        outcome.found,
        outcome.power,
        base=outcome.base.title,
        head=outcome.head.title,
        broken=outcome.broken,
        added=outcome.added,
        warnings=outcome.warnings,
        sweeps=outcome.sweeps,
        varies=outcome.varies,
        measured_s=outcome.measured_s,
        interrupted=outcome.interrupted,
        base_lacks=outcome.base_lacks,
        uncompared=outcome.uncompared,
    )
    spelled = spell_answer(
        phrase_gate(answer),
        warnings=(f"{warning.rstrip('.')}." for warning in answer.warnings),
        **list_gate_values(answer),
    )
    page = html or folder / "report.html"
    # Who reads what is printed may close the pipe early, and a full disk must not lose the answer.
    problem = None
    try:
        (folder / "gate.json").write_text(f"{spelled}\n", encoding="utf-8")
        for path in {folder / "comment.md", comment or folder / "comment.md"}:
            path.write_text(write_comment(answer), encoding="utf-8")
        page.write_text(render_gate_page(answer), encoding="utf-8")
        if history is not None:
            version = outcome.head.commit[:12] or outcome.head.name
            machine = outcome.host.cpu_model or ""
            append_history(history, outcome.rounds, version=version, machine=machine, unix_s=int(time.time()))
    except OSError as error:
        problem = error
    if as_json:
        click.echo(spelled)
    else:
        console = make_console()
        console.print(phrase_gate(answer), markup=False)
        if answer.benchmarks:
            columns = console.width if sys.stdout.isatty() else None
            table = render_text(["", build_gate_table(answer, columns), ""])
            make_table_console().print(table, markup=False, soft_wrap=True)
        for sentence in list_sentences(answer):
            console.print(sentence, markup=False)
        console.print(f"Report: {page}", markup=False, soft_wrap=True)
    if problem is not None:
        raise problem
    return 0 if answer.passes else EXIT_SLOWER


def _read_gate(commands: tuple[str, ...], name: str | None) -> Gate:
    if commands and name is None:
        return Gate(tuple(Benchmark(_name(commands, index), text) for index, text in enumerate(commands)))
    if commands:
        raise InputError(
            "there are commands, and a file", where="--file", remedy="Write the commands into the file."
        )
    from datamill.results.foreign.recognise import FORMATS

    path = Path(name or GATE_FILE)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            "there is no such file",
            where=str(path),
            remedy=f"Name commands ({name_command()} gate --build make './prog data'), or write "
            '[[benchmark]] with command = "./prog data" into the file.',
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"it cannot be read: {error}", where=str(path)) from None
    return parse_gate(text, name=str(path), tools=[item.name for item in FORMATS])


def _name(commands: tuple[str, ...], index: int) -> str:
    same = commands[:index].count(commands[index])
    return commands[index] if not same else f"{commands[index]} ({same + 1})"


def _check_places(folder: Path, *files: Path | None) -> None:
    """Refuse what could not be written, before anything is measured, and make the folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"this folder cannot be made: {error.strerror}", where=str(folder), remedy="Name another one."
        ) from None
    for file in files:
        if file is not None:
            check_writable(file)


def _find_gates() -> Path:
    return find_results_folder(os.environ, is_root=os.geteuid() == 0) / _GATES


def _choose_folder() -> Path:
    return name_results_folder(_GATES, os.environ, is_root=os.geteuid() == 0)
