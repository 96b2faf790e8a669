"""`datamill explain`: what a word means in answers, warnings and pages."""

from __future__ import annotations

import shutil
import textwrap

import click

from datamill.experiment.messages.suggestions import suggest_name
from datamill.report.words.glossary import Word, find_words, read_words

_WIDEST = 100


@click.command()
@click.argument("word", nargs=-1)
def explain(word: tuple[str, ...]) -> None:
    """Say what a WORD means here, such as `datamill explain half-width`; without one, list all words."""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    if not word:
        names = sorted({name for item in read_words() for name in item.names}, key=str.lower)
        click.echo(textwrap.fill(", ".join(names), width, break_on_hyphens=False))
        return
    asked = " ".join(word)
    found = find_words(asked)
    if not found:
        meant = suggest_name(asked, {name for item in read_words() for name in item.names})
        if not meant.startswith("Did"):
            meant = "Type datamill explain for a list of all."
        raise click.UsageError(f'the glossary has no word "{asked}". {meant}')
    click.echo("\n\n".join(_lay_out(item, width) for item in found))


def _lay_out(word: Word, width: int) -> str:
    text = word.meaning.replace("`", "")
    meaning = textwrap.fill(text, width - 2, break_on_hyphens=False)
    return f"{word.title}\n{textwrap.indent(meaning, '  ')}"
