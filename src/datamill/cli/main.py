"""The command `datamill`: its verbs, and what becomes of an error."""

from __future__ import annotations

import errno
import signal
import sys
from importlib import import_module
from typing import Any

import click

from datamill import __version__
from datamill.execution.worker import WorkerError
from datamill.experiment.errors import InputError
from datamill.experiment.suggestions import suggest_name

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


#: The verbs in the order in which a user meets them, each with its line in the help. A verb's module, which
#: bears its name, is imported when the verb is used: `new` need not wait for the statistics of `analyze`.
_VERBS = {
    "new": "Make an experiment that runs as it is.",
    "check": "Validate an experiment and show its design.",
    "run": "Run an experiment; ends with the answer and a report.",
    "report": "Rebuild the report of a bundle.",
    "analyze": "Analyse a table of measurements.",
}


class _VerbGroup(click.Group):
    """Imports a verb when it is used, and offers the nearest one for a verb that it does not know."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the verbs in the order of use."""
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a verb, or None when there is none of that name."""
        if cmd_name not in _VERBS:
            return None
        command = getattr(import_module(f"datamill.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(_VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in _VERBS:
            ctx.fail(f'unknown verb "{args[0]}". {suggest_name(args[0], _VERBS)}')
        return super().resolve_command(ctx, args)


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


def main(arguments: list[str] | None = None) -> Any:
    """Run the command; every error that input can cause ends in a clear message and status 2."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_TERMINATED))
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
