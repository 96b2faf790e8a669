"""Pages of the manual, made of what `--help` says: `python -m datamill.cli.shell.manual FOLDER`."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from datamill import __version__
from datamill.cli.main import datamill

#: Where click keeps lines as they are.
_AS_IT_IS = "\b\n"
_STARTS_A_REQUEST = re.compile(r"^[.']", re.MULTILINE)


def write_pages(folder: Path) -> list[Path]:
    """Write a page for datamill and each of its verbs, such as `datamill-analyze-anova.1`."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for context in _list_contexts(click.Context(datamill, info_name="datamill", **datamill.context_settings)):
        path = folder / f"{_name_page(context)}.1"
        path.write_text(make_page(context), encoding="utf-8")
        written.append(path)
    return written


def _list_contexts(context: click.Context) -> Iterator[click.Context]:
    yield context
    for name, command in _list_commands(context):
        yield from _list_contexts(click.Context(command, info_name=name, parent=context))


def _list_commands(context: click.Context) -> Iterator[tuple[str, click.Command]]:
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if command is not None and not command.hidden:
                yield name, command


def _name_page(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def make_page(context: click.Context) -> str:
    """Return the page of one command in the macros of man(7)."""
    command, name = context.command, _name_page(context)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f'.TH "{name.upper()}" "1" "" "datamill {__version__}" "datamill"', ".SH NAME"]
    lines += [f"{_escape(name)} \\- {_escape(_summarize(command))}", ".SH SYNOPSIS", ".nh", ".ad l"]
    lines += [f"\\fB{_escape(context.command_path)}\\fR {_escape(usage)}", ".ad b", ".hy", ".SH DESCRIPTION"]
    lines += _write_text(command.help or "")
    if command.epilog:
        lines += [".PP", *_write_text(command.epilog)]
    options = [
        record
        for item in command.get_params(context)
        if isinstance(item, click.Option) and (record := item.get_help_record(context))
    ]
    if options:
        lines.append(".SH OPTIONS")
        for names, text in options:
            lines += [".TP", f"\\fB{_escape(names)}\\fR", *(_write_text(text) or ["\\&"])]
    verbs = list(_list_commands(context))
    if verbs:
        lines.append(".SH VERBS")
        for verb, item in verbs:
            lines += [".TP", f"\\fB{_escape(verb)}\\fR", _escape(_summarize(item)), ".br"]
            lines.append(f"See \\fB{_escape(f'{name}-{verb}')}\\fR(1).")
    elif context.parent is not None:
        lines += [".SH SEE ALSO", f"\\fB{_escape(_name_page(context.parent))}\\fR(1)"]
    return "\n".join(lines) + "\n"


def _summarize(command: click.Command) -> str:
    # click shortens the first sentence to fit a terminal.
    return command.get_short_help_str(limit=200).rstrip(".") or (command.name or "")


def _write_text(text: str) -> list[str]:
    """Return paragraphs; those that click is to keep as they are keep their lines."""
    lines: list[str] = []
    # click shows nothing behind a form feed.
    for paragraph in inspect.cleandoc(text.partition("\f")[0]).split("\n\n"):
        if lines:
            lines.append(".PP")
        if paragraph.startswith(_AS_IT_IS):
            lines += [".nf", _escape(paragraph.removeprefix(_AS_IT_IS)), ".fi"]
        else:
            lines.append(_escape(" ".join(paragraph.split())))
    return [line for line in lines if line]


def _escape(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return _STARTS_A_REQUEST.sub(r"\\&\g<0>", text)


if __name__ == "__main__":
    print(len(write_pages(Path(sys.argv[1]))), "pages of the manual")
