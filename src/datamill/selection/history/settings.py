"""How versions of a project are built, which programs are looked at and which benchmarks measured."""

from __future__ import annotations

import msgspec

from datamill.experiment.errors import InputError
from datamill.experiment.file.source import Source
from datamill.experiment.quantities import parse_duration
from datamill.selection.history.checked_tables import check_tables

#: What a file that was begun names where no build was found: every version would be built for nothing.
PLACEHOLDER = "PROGRAM"
SETTINGS_FILE = "selection.toml"
#: Executions of each benchmark of each program, unless the file says otherwise (thesis 2019: at least five).
REPETITIONS = 5
RULES = ("relevant", "mann-whitney", "instructions")
RESPONSES = ("wall", "cpu")


class BuildSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command that builds versions: those that hold the commit `since`, if named, and not yet `until`.

    `binaries` are the programs that it makes, where these are others than the project's.
    """

    command: str
    since: str = ""
    until: str = ""
    binaries: tuple[str, ...] = ()


class BenchmarkSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A benchmark: its name and the command that is executed in the folder of a version's programs."""

    name: str
    command: str


class FeatureSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command that prints numbers for two versions: lines of a name and a number, or a JSON object."""

    name: str
    command: str


class TruthSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What counts as a performance change (see `history.truth`); a threshold of None is that of the rule."""

    rule: str = "relevant"
    response: str = "wall"
    threshold: float | None = None


class SelectionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file of a project.

    `binaries` are paths in the checkout; `keep` are further paths that benchmarks need of a version. `inputs`
    are paths in the folder of the file that benchmarks need: machines of a fleet have nothing else of it.
    `without` are submodules that builds do not need: versions are built without those that are not there.
    `setup` is executed once before benchmarks, in the folder of the file. Times are texts such as `10min`.
    """

    binaries: tuple[str, ...]
    benchmark: tuple[BenchmarkSetting, ...] = ()
    build: tuple[BuildSetting, ...] = ()
    feature: tuple[FeatureSetting, ...] = ()
    truth: TruthSetting = TruthSetting()
    name: str = ""
    keep: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    setup: str = ""
    repetitions: int = REPETITIONS
    build_timeout: str = "30min"
    timeout: str = "1min"

    @property
    def build_timeout_s(self) -> float:
        """How long a build may take."""
        return parse_duration(self.build_timeout, where="build_timeout")

    @property
    def timeout_s(self) -> float:
        """How long a benchmark may take."""
        return parse_duration(self.timeout, where="timeout")

    def list_binaries(self, build: BuildSetting | None) -> tuple[str, ...]:
        """Return the paths of the programs that a build makes; None where nothing is built."""
        return (build.binaries if build is not None else ()) or self.binaries


def parse_settings(text: str, name: str = SETTINGS_FILE) -> SelectionSettings:
    """Return the settings that a file holds.

    Raises:
        InputError: it is not TOML, has unknown keys, values of the wrong kind, or names nothing to look at.
    """
    source = Source(name, text)
    tables = source.parse()
    check_tables(source, tables, SelectionSettings)
    # Builds may name the binaries, each its own.
    settings = msgspec.convert({"binaries": [], **tables}, SelectionSettings)
    _check(settings, name)
    return settings


def _check(settings: SelectionSettings, where: str) -> None:
    def refuse(message: str, remedy: str) -> None:
        raise InputError(message, where=where, remedy=remedy)

    if not settings.binaries and not (settings.build and all(item.binaries for item in settings.build)):
        refuse("names no binaries", 'Write binaries = ["PATH"]: the programs that the build makes.')
    paths = [*settings.binaries, *settings.keep, *(path for item in settings.build for path in item.binaries)]
    if PLACEHOLDER in settings.binaries:
        refuse(
            f'still has "{PLACEHOLDER}" among its binaries',
            "Write the path of a program that the build makes, such as build/tool, and the benchmarks.",
        )
    for path in paths:
        if not path or path.startswith("/") or ".." in path.split("/"):
            refuse(f'"{path}" is not a path inside a checkout', "Name it from the top of the repository.")
    for path in settings.inputs:
        if not path or path.startswith("/") or ".." in path.split("/"):
            refuse(f'the input "{path}" is not in the folder of this file', "Name it from that folder.")
    names = [item.name for item in settings.benchmark]
    for name in names:
        if not name or names.count(name) > 1:
            refuse(f'the name "{name}" of a benchmark is empty or used twice', "Give each its own name.")
    for benchmark in settings.benchmark:
        if not benchmark.command.strip():
            refuse(f"the benchmark {benchmark.name} has no command", 'Write command = "PROGRAM …".')
    if settings.repetitions < REPETITIONS:
        refuse(
            f"{settings.repetitions} repetitions are too few for a test of ranks at 0.05",
            f"Write {REPETITIONS} or more.",
        )
    if settings.truth.rule not in RULES:
        refuse(f'"{settings.truth.rule}" is not a rule', f"Choose among {', '.join(RULES)}.")
    if settings.truth.response not in RESPONSES:
        refuse(f'"{settings.truth.response}" is not a response', f"Choose among {', '.join(RESPONSES)}.")
    if settings.truth.threshold is not None and not 0 <= settings.truth.threshold < 1:
        refuse("the threshold of truth is a share", "Write 0.01 for 1%.")
    for key, value in (("build_timeout", settings.build_timeout), ("timeout", settings.timeout)):
        parse_duration(value, where=f"{where}: {key}")
