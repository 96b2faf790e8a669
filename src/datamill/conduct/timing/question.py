"""What is asked of `datamill time`, and the experiment that it amounts to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from datamill.conduct.timing.builds import BuildPlan
from datamill.design.batches import FEWEST_ROUNDS
from datamill.experiment.command_lines import CommandLine
from datamill.experiment.file.toml_text import format_toml
from datamill.experiment.quantities import format_duration
from datamill.experiment.responses import DEFAULT_RESPONSE, Response

#: What becomes of a command's standard output.
Output = Literal["capture", "null", "inherit", "file"]
#: Difference, as a share, that does not matter to most.
DEFAULT_LIMIT = 0.01
#: Time for all that is measured where nobody names one, and rounds that run however long they take.
DEFAULT_WITHIN_S = 30.0
FEWEST_DEFAULT_ROUNDS = 6
#: The same where each round is a new build.
DEFAULT_BUILDS_WITHIN_S = 60.0
FEWEST_DEFAULT_BUILDS = 10
#: Rounds that are measured also where that overruns the time which somebody names: fewer have no interval.
FEWEST_WITH_INTERVAL = 2
#: Rounds at most: from so many on, chance in single executions is no longer what an answer lacks.
MOST_ROUNDS = 1000
#: Share of the rounds before it that a batch adds: looks take no time that matters.
GROWTH = "10%"
#: Bytes that are added to the environment of an execution, drawn anew for each.
PADDING = "env_padding"
PADDING_RANGE = "0..4096"
#: What is drawn anew for each build.
LINK_ORDER = "link_order"
EXPERIMENT_NAME = "time"
#: The response of which small values are not known.
PEAK_MEMORY = "peak_memory_bytes"


@dataclass(frozen=True, slots=True)
class Redirection:
    """What becomes of a command's standard output; `file` is None where it goes to none."""

    output: Output = "capture"
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class TimingQuestion:
    """What is timed and how.

    `within_s` bounds the time of all executions (0: none is named, and the default leaves room for
    `FEWEST_DEFAULT_ROUNDS`). `most_rounds` and `warmup_rounds` are None where they are to be found;
    `least_rounds` are measured however early the answer is known, unless a time is named and over.
    `allowed_statuses` are exit statuses that are no failure; None allows all. `shell` are the words of a
    shell of the user's own, which also runs what is not measured. `setup` runs once before each
    command's first execution, `prepare` before and `conclude` after each, `cleanup` when all is done; none of
    them is measured. Of these and of `redirections` there is one for all commands, or one for each. `builds`
    says how often what the commands execute is built; None where it is there.
    """

    commands: tuple[CommandLine, ...]
    directory: Path
    response: Response = DEFAULT_RESPONSE
    within_s: float = 0.0
    limit: float = DEFAULT_LIMIT
    alpha: float = 0.05
    seed: int = 1
    least_rounds: int = 0
    most_rounds: int | None = None
    warmup_rounds: int | None = None
    timeout_s: float = 0.0
    allowed_statuses: frozenset[int] | None = frozenset({0})
    input_file: Path | None = None
    redirections: tuple[Redirection, ...] = (Redirection(),)
    shell: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()
    conclude: tuple[str, ...] = ()
    cleanup: tuple[str, ...] = ()
    builds: BuildPlan | None = None

    def find_redirection(self, command: CommandLine) -> Redirection:
        """What becomes of the standard output of a command; of one that is not timed, as of the first."""
        if len(self.redirections) == 1 or command not in self.commands:
            return self.redirections[0]
        return self.redirections[self.commands.index(command)]

    def find_folder(self, command: CommandLine) -> Path:
        """Where a command runs."""
        return Path(command.directory) if command.directory else self.directory

    @property
    def longest_s(self) -> float:
        """The time that executions may take, where it does not leave too few rounds."""
        return self.within_s or (DEFAULT_WITHIN_S if self.builds is None else DEFAULT_BUILDS_WITHIN_S)

    @property
    def fewest_rounds(self) -> int:
        """Rounds that run however long they take, where nobody names a time."""
        usual = FEWEST_DEFAULT_ROUNDS if self.builds is None else FEWEST_DEFAULT_BUILDS
        return max(self.least_rounds, min(usual, self.most_rounds or usual))


def write_experiment_text(
    question: TimingQuestion, origins: Mapping[str, Mapping[str, object]] | None = None
) -> str:
    """Return the experiment file that a question amounts to.

    `origins` says of each command by its name where its package is from; else it is the command alone.
    """
    count = len(question.commands)
    builds = question.builds
    goal = (
        {"detect": question.limit, "alpha": question.alpha, "power": 1 - question.alpha / 2}
        if count == 2
        else {"half_width": question.limit, "confidence": 1 - question.alpha}
    )
    response = question.response
    tables = {
        "experiment": {
            "name": EXPERIMENT_NAME,
            "question": _phrase_question(question),
            "seed": question.seed,
            "order": "interleaved",
            "build": "shared",
            "isolation": "plain",
            "confidence": 1 - question.alpha,
        },
        "package": [
            {"name": command.name, **(origins[command.name] if origins else _describe(question, command))}
            for command in question.commands
        ],
        "replication": {
            **({"executions": 2} if builds is None else {"builds": 2, "executions": builds.executions}),
            "until": goal | {"grow": GROWTH},
            # A plan has room for the rule; what the user asks for bounds it.
            "max_trials": count
            * max(FEWEST_ROUNDS, question.most_rounds or MOST_ROUNDS)
            * (builds.executions if builds is not None else 1),
            "max_time": f"{max(1, round(1e3 * question.longest_s))} ms",
        },
        "nuisance": {
            PADDING: {"randomise": PADDING_RANGE},
            **({LINK_ORDER: {"fix": "random"}} if builds is not None and builds.has_order else {}),
        },
        "responses": {
            response.name: {
                "unit": response.unit,
                "formula": response.formula,
                "direction": response.direction,
            }
        },
    }
    note = (
        "# Written by `datamill time`, which executed these commands in turns on this machine, in the\n"
        "# folder and environment of the user. `datamill run` on this file repeats them as trials.\n\n"
    )
    return note + format_toml(tables)


def _describe(question: TimingQuestion, command: CommandLine) -> dict[str, object]:
    return {
        "command": command.text,
        "shell": command.in_shell,
        "directory": command.directory or str(question.directory),
    }


def _phrase_question(question: TimingQuestion) -> str:
    if len(question.commands) == 1:
        return (
            "How long does the command take?" if question.response == DEFAULT_RESPONSE else "How much is it?"
        )
    within = f" (within {format_duration(question.within_s)})" if question.within_s else ""
    what = "takes longer" if question.response == DEFAULT_RESPONSE else f"has more {question.response.name}"
    return f"Which of the commands {what}?{within}"
