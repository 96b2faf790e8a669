"""Spellings of hyperfine's that click does not read by itself, and its options with another name here."""

from __future__ import annotations

import re

import click

#: `-i=1,2` and `--ignore-failure=1,2`; without a value the option is a flag, and the next word a command.
_IGNORED = re.compile(r"(?:-i|--ignore-failure)=(.*)", re.DOTALL)
#: Options of hyperfine that are not here, and what does what they are for.
_ELSEWHERE = {
    "--min-benchmarking-time": (
        "it stops when the answer is known, not after a time: name the longest with --within 10s, and the "
        "fewest executions with --min-runs"
    ),
    "--debug-mode": "commands are always executed here; --runs 2 executes each twice",
    "--version": "type datamill --version",
    "-V": "type datamill --version",
}


class TimeCommand(click.Command):
    """The command `datamill time`, which also reads what is typed for hyperfine."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read options as click does, once those of hyperfine's are spelled as it reads them.

        Raises:
            click.UsageError: when there is an option of hyperfine's that has another name here.
        """
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(
            ctx, [word for typed in args[:end] for word in _respell(typed)] + args[end:]
        )


def _respell(typed: str) -> list[str]:
    name = typed.partition("=")[0]
    if name in _ELSEWHERE:
        raise click.UsageError(f"datamill does not have {name} of hyperfine: {_ELSEWHERE[name]}.")
    ignored = _IGNORED.fullmatch(typed)
    if ignored is None:
        return [typed]
    statuses = ignored[1].strip()
    if statuses in ("", "all-non-zero"):
        return ["--ignore-failure"]
    # hyperfine lists failures to ignore; 0 is not a failure.
    return ["--allow-status", f"0,{statuses}"]
