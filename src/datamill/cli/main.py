"""The command `datamill`: its verbs, and what becomes of an error."""

from __future__ import annotations

import errno
import sys
from typing import Any

import click

from datamill import __version__
from datamill.cli.analyze import analyze
from datamill.cli.check import check
from datamill.cli.new import new
from datamill.cli.report import report
from datamill.cli.run import run
from datamill.execution.worker import WorkerError
from datamill.experiment.errors import InputError
from datamill.experiment.suggestions import suggest_name

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


class _VerbGroup(click.Group):
    """A group that offers the nearest verb for one that it does not know."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(f'unknown verb "{args[0]}". {suggest_name(args[0], self.commands)}')
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Keep the order in which a user meets the verbs."""
        return list(self.commands)


@click.group(
    cls=_VerbGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="datamill")
def datamill() -> None:
    """From a question about performance to a defensible answer.

    Describe the question in an experiment file, let datamill vary the hidden factors that quietly
    change results, and read an answer with intervals.

    \b
      datamill new compare-sort         make an experiment that runs as it is
      datamill check compare-sort       see what would run, and how long it takes
      datamill run compare-sort         run it; ends with the answer and a report
    """  # noqa: D301 - click needs the backspace itself


for verb in (new, check, run, report, analyze):
    datamill.add_command(verb)


def main(arguments: list[str] | None = None) -> Any:
    """Run the command; every error that input can cause ends in a clear message and status 2."""
    try:
        status = datamill.main(arguments, prog_name="datamill", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        status = EXIT_BAD_INPUT
    except (InputError, WorkerError) as error:
        status = _refuse(str(error))
    except (KeyboardInterrupt, click.Abort):
        click.echo("datamill: interrupted", err=True)
        status = EXIT_INTERRUPTED
    except OSError as error:
        if error.errno not in (
            errno.ENOSPC,
            errno.EDQUOT,
            errno.EACCES,
            errno.EROFS,
            errno.ENOENT,
            errno.EPERM,
        ):
            raise
        where = f"{error.filename}: " if error.filename else ""
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = (
            "\nMake room, then continue with datamill run --resume; nothing measured is lost." if full else ""
        )
        status = _refuse(f"{where}{error.strerror}{remedy}")
    sys.exit(status or 0)


def _refuse(message: str) -> int:
    click.echo(f"datamill: {message}", err=True)
    return EXIT_BAD_INPUT
