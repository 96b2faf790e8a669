"""Commands are timed, and the answer is printed and exported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from datamill.cli.console import make_console, name_command
from datamill.cli.timing.time_options import check_writable
from datamill.conduct.timing.question import MOST_ROUNDS, TimingQuestion
from datamill.conduct.timing.time_commands import time_commands
from datamill.execution.worker import find_worker
from datamill.experiment.errors import InputError

if TYPE_CHECKING:
    # Brings statistics along, which the first execution need not wait for.
    from datamill.conduct.commits.time_revisions import RevisionQuestion
    from datamill.protocol.trial import TrialRecord
    from datamill.report.timing.timing_answer import TimingAnswer


#: What a file is called that stands for standard output.
_STDOUT = Path("-")


@dataclass(frozen=True, slots=True)
class Exports:
    """Files that the results go to, each in its form; None for those that nobody asked for."""

    hyperfine: Path | None = None
    markdown: Path | None = None
    asciidoc: Path | None = None
    orgmode: Path | None = None
    csv: Path | None = None

    def check_places(self, *, as_json: bool) -> None:
        """Refuse files that could not be written, before anything is measured.

        Raises:
            InputError: when the folder of one is not there, or standard output is taken for the answer.
        """
        for file in (self.hyperfine, self.markdown, self.asciidoc, self.orgmode, self.csv):
            if file == _STDOUT and as_json:
                raise InputError(
                    "--json takes standard output, and what is exported to - would follow it",
                    where="--json",
                    remedy="Leave it out, or export to a file.",
                )
            if file is not None and file != _STDOUT:
                check_writable(file)

    def write(self, answer: TimingAnswer, records: Mapping[str, Sequence[TrialRecord]]) -> None:
        """Write the files; `records` are the completed executions of each command."""
        from datamill.report.timing.exports import spell_csv, spell_hyperfine
        from datamill.report.timing.markup import spell_asciidoc, spell_markdown, spell_orgmode

        forms: tuple[tuple[Path | None, Callable[[], str]], ...] = (
            (self.hyperfine, lambda: spell_hyperfine(answer, records)),
            (self.markdown, lambda: spell_markdown(answer)),
            (self.asciidoc, lambda: spell_asciidoc(answer)),
            (self.orgmode, lambda: spell_orgmode(answer)),
            (self.csv, lambda: spell_csv(answer, records)),
        )
        for file, spell in forms:
            if file == _STDOUT:
                click.echo(f"\n{spell()}", nl=False)
            elif file is not None:
                file.write_text(spell(), encoding="utf-8")


@contextmanager
def _telling_what_is_kept(folder: Path) -> Iterator[None]:
    """Say where the executions are that a signal ended, if any were kept: there is no time for an answer."""
    try:
        yield
    except SystemExit:
        if (folder / "bundle.json").is_file():
            click.echo(
                f"datamill: ended by a signal; what was measured is kept: {name_command()} report {folder}",
                err=True,
            )
        raise


def tell_timing(
    question: TimingQuestion,
    folder: Path,
    exports: Exports,
    *,
    as_json: bool,
    revisions: RevisionQuestion | None = None,
    quiet: bool = False,
    by_mean: bool = False,
    time_unit: str = "",
    has_reference: bool = False,
) -> bool:
    """Time commands, print and export the answer, and tell whether one is slower than the first.

    With `revisions` it is one command in each of these. `quiet` shows nothing while it measures; `by_mean`
    shows the commands in the order of their means; `time_unit` is that in which times are written, and empty
    where it follows their size; `has_reference` compares the others with the first.

    Raises:
        InputError: when a command fails, or the folder is not empty.
        WorkerError: when the worker ended.
    """
    from datamill.cli.timing.time_display import TimeDisplay

    with _telling_what_is_kept(folder), TimeDisplay(quiet=quiet) as display:
        if revisions is None:
            timed = time_commands(question, find_worker(), folder, display)
        else:
            from datamill.conduct.commits.time_revisions import time_revisions

            timed = time_revisions(revisions, question, find_worker(), folder, display)
    question = timed.question
    from datamill.cli.json_answer import spell_answer
    from datamill.report.timing.json import list_timing_values
    from datamill.report.timing.picture import draw_means
    from datamill.report.timing.statement import list_comparisons, list_sentences, phrase_answer
    from datamill.report.timing.timing_answer import build_timing_answer

    answer = build_timing_answer(
        timed.bundle.experiment,
        question.commands,
        timed.decision,
        timed.pairs,
        limit=question.limit,
        most_rounds=question.most_rounds or MOST_ROUNDS,
        warnings=timed.warnings,
        measured_s=timed.measured_s,
        interrupted=timed.interrupted,
        bundle=str(timed.bundle.folder),
        bounded=timed.bounded,
        executions=question.builds.executions if question.builds is not None else 0,
        time_unit=time_unit,
        by_mean=by_mean,
        has_reference=has_reference,
    )
    if as_json:
        click.echo(
            spell_answer(
                phrase_answer(answer),
                warnings=(f"{warning.rstrip('.')}." for warning in answer.warnings),
                **list_timing_values(answer),
            )
        )
    else:
        console = make_console()
        # On one terminal nothing is told twice.
        told = display.warned if console.is_terminal else []
        left = replace(answer, warnings=tuple(item for item in answer.warnings if item not in told))
        picture = draw_means(answer, console.width if sys.stdout.isatty() else None)
        lines = [phrase_answer(answer), "", *picture, "", *list_comparisons(answer), *list_sentences(left)]
        for line in lines:
            console.print(line, markup=False)
        # In one piece, however narrow the terminal is: it is typed again.
        console.print(f"Report: {name_command()} report {answer.bundle}", markup=False, soft_wrap=True)
    # Last: a full disk must not lose the answer.
    exports.write(answer, timed.completed)
    first = question.commands[0]
    return any(pair.verdict == "slower" and pair.a == first for pair in answer.comparisons)
