"""The command `datamill`: its verbs, and what becomes of an error."""

from __future__ import annotations

import errno
import sys
from io import TextIOWrapper
from typing import Any

import click

from datamill import __version__
from datamill.cli.signals import end_politely, finish_quietly
from datamill.cli.verbs import VerbGroup
from datamill.execution.errors import WorkerError
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import speak_command_line, speaking

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


#: The verbs in the order in which a user meets them, each with its line in the help.
_VERBS = {
    "time": "Say which of several commands is faster, or how long one takes.",
    "gate": "Say whether a change slows any benchmark down.",
    "new": "Make an experiment that runs as it is.",
    "packages": "List the packages that come with datamill.",
    "check": "Validate an experiment and show its design.",
    "run": "Run an experiment; ends with the answer and a report.",
    "explain": "Say what a word means in answers and warnings.",
    "doctor": "What this machine offers and lacks for measuring.",
    "factors": "List what can be varied on this machine.",
    "report": "Rebuild the report of a bundle.",
    "analyze": "Analyse a table of measurements.",
    "allocators": "Find allocations that take the slow path, and their lines.",
    "plan": "How many builds, executions and measurements a result takes.",
    "compare": "Has performance changed between versions?",
    "reproduce": "Does an experiment that was run again have the same result?",
    "predict": "What a response would be at levels that were not measured.",
    "platforms": "How fast will it run on a machine that I cannot use?",
    "selection": "Which benchmarks must run for this commit?",
    "import": "Make a table of the results of another tool.",
    "export": "Write a bundle or table for another tool or a paper.",
    "submit": "Run an experiment on a fleet of machines.",
    "watch": "Show an experiment of the fleet live.",
    "fetch": "Take the bundle of an experiment home from the fleet.",
    "cancel": "End an experiment of the fleet.",
    "release": "Start an experiment's design after its debug trials.",
    "queue": "Show who waits for the fleet's machines, and their shares.",
    "trials": "List the trials of an experiment of the fleet.",
    "workers": "List the machines of the fleet.",
    "publish": "Publish the result of an experiment of the fleet.",
    "publications": "List what was published, or what one answers.",
    "withdraw": "Withdraw a publication, with a reason.",
    "rerun": "Run an experiment of the fleet again, and say if it was reproduced.",
    "fork": "Make a folder of somebody's experiment, to be changed.",
    "notices": "Say where you want to hear of what happened.",
    "keys": "List, make and revoke your keys for the coordinator.",
    "quotas": "Show what you have on the coordinator, and may have.",
    "users": "List accounts of the coordinator, and change them.",
    "storage": "Show what takes room on the coordinator.",
    "retention": "Show or say how long the coordinator keeps files.",
    "backup": "Copy the coordinator's database while all goes on.",
    "serve": "Run the coordinator of a fleet.",
    "worker": "Look at this machine, put it back as it was, let it join a fleet.",
    "completion": "Have your shell complete verbs and options.",
}


#: The folders in which their modules lie; `analyze` is one itself.
_ROOMS = {
    **dict.fromkeys(("time", "gate"), "timing"),
    **dict.fromkeys(("new", "packages", "check", "run", "report", "reproduce"), "experiment"),
    **dict.fromkeys(("plan", "compare", "predict"), "analyze"),
    **dict.fromkeys(("import", "export"), "exchange"),
    **dict.fromkeys(("submit", "watch", "fetch", "cancel", "release", "queue", "trials", "workers"), "fleet"),
    **dict.fromkeys(("publish", "publications", "withdraw", "rerun", "fork"), "published"),
    **dict.fromkeys(("notices", "keys", "quotas", "users", "storage", "retention", "backup"), "members"),
    **dict.fromkeys(("doctor", "factors", "worker"), "machine"),
    "platforms": "platforms",
    "selection": "selection",
    "serve": "coordinator",
    "completion": "shell",
}


#: Verbs of groups, which users type without the group.
_NESTED = {
    **dict.fromkeys(
        ("anova", "quantiles", "tests", "variability", "variance", "hardware", "summary"), "analyze"
    ),
    **dict.fromkeys(("fit", "choose", "rank", "evaluate", "suite"), "platforms"),
}


@click.group(
    cls=VerbGroup,
    verbs=_VERBS,
    nested=_NESTED,
    package="datamill.cli",
    rooms=_ROOMS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="datamill")
def datamill() -> None:
    """From a question about performance to a defensible answer.

    Time two commands, or describe the question in an experiment file: datamill varies the hidden factors
    that quietly change results, and answers with intervals.

    \b
      datamill time 'old f' 'new f'     say which command is faster, by how much, and how sure that is
      datamill new compare-sort         make an experiment that runs as it is
      datamill check compare-sort       see what would run, and how long it takes
      datamill run compare-sort         run it; ends with the answer and a report
    """  # noqa: D301 - click needs the backspace itself


def main(arguments: list[str] | None = None) -> Any:
    """Run the command; every error that input can cause ends in a clear message and status 2."""
    with speaking(speak_command_line):
        _run(arguments)


def _run(arguments: list[str] | None) -> None:
    end_politely()
    _print_what_can_be()
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
        status = _refuse(f"{where}{error.strerror}{_advise(error, arguments or sys.argv[1:])}")
    finish_quietly()
    sys.exit(status or 0)


def _print_what_can_be() -> None:
    """Write another character where an output lacks one: it must not cost what was measured."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="replace")


def _advise(error: OSError, arguments: list[str]) -> str:
    """What to do about a full disk; nothing for other errors."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return ""
    if arguments[:1] == ["run"]:
        return "\nMake room, then continue with datamill run --resume; nothing measured is lost."
    return "\nMake room, then type the command again."


def _refuse(message: str) -> int:
    # Imported late: the library that draws terminals takes a while to load.
    from datamill.cli.console import clean_for_terminal

    click.echo(f"datamill: {clean_for_terminal(message)}", err=True)
    return EXIT_BAD_INPUT
