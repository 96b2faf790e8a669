"""The question, as frozen records: what is compared, over which factors, with which responses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from datamill.experiment.hypothesis import Hypothesis
from datamill.experiment.levels import NumberRange
from datamill.experiment.responses import Direction as Direction
from datamill.experiment.responses import Response as Response
from datamill.protocol.api.submissions import DebugPolicy, RebootPolicy

BuildPolicy = Literal["fresh", "shared"]
Isolation = Literal["auto", "guest", "confined", "user_namespace", "overlay", "plain"]
KernelInterface = Literal["perf_events", "io_uring", "userfaultfd", "namespaces"]
#: Which combinations of levels are measured.
DesignKind = Literal["full", "screening", "fractional", "d-optimal", "covering"]
#: How trials follow each other: all in one random order, or every design point once before any comes again.
TrialOrder = Literal["random", "interleaved"]
#: Whether a small screening of hidden factors comes first, whose survivors are crossed.
ScreenFirst = Literal["never", "auto"]
#: What divides trials into blocks whose level may differ, besides what the order makes of them.
BlockCondition = Literal["none", "hour", "boot"]
#: What becomes of a factor: crossed with the others, held at one level, or drawn anew for each trial.
Treatment = Literal["vary", "fix", "randomise"]


@dataclass(frozen=True, slots=True)
class PackageNeeds:
    """What a package asks of the host that packages usually do not get."""

    network: bool = False
    devices: tuple[str, ...] = ()
    kernel: tuple[KernelInterface, ...] = ()
    privileged: bool = False
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandSource:
    """A command line that is a package by itself: datamill writes the folder with its `run.sh`.

    `directory` is where it runs: as the file gives it, relative to the experiment file; absolute once that
    was read from its place; empty for a command that needs no files of this machine. `shell` says whether
    `/bin/sh` runs it; None leaves that to the text. `arguments` are parts of the text in place of which the
    trial's level stands, each with the variable that has it.
    """

    text: str
    directory: str = "."
    shell: bool | None = None
    arguments: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class GitSource:
    """A revision of a repository, in whose files a package's command runs.

    `repository` and `revision` are as the file gives them; an absolute path and a full hash once they were
    looked up. `build` is the command line that `setup.sh` runs there; empty when nothing is built.
    """

    repository: str
    revision: str = "HEAD"
    build: str = ""


@dataclass(frozen=True, slots=True)
class Package:
    """What is measured: its name in this experiment, where it comes from, and its needs.

    It comes from `path`, as the file gives it, or from `command`, which runs in the files of `git` if there
    are any.
    """

    name: str
    path: str
    needs: PackageNeeds = PackageNeeds()
    command: CommandSource | None = None
    git: GitSource | None = None


@dataclass(frozen=True, slots=True)
class Constraints:
    """Which machines may run the experiment; empty or zero means any."""

    arch: tuple[str, ...] = ()
    min_memory_bytes: int = 0
    min_cores: int = 0
    min_clock_khz: int = 0
    cpu_model: tuple[str, ...] = ()
    distribution: tuple[str, ...] = ()
    counters: bool = False
    workers: tuple[str, ...] = ()


#: What distinguishes machines, as dimensions of an experiment's space: coverage and analysis know them by
#: these names (ICPE 2013 section 3.2).
HardwareDimension = Literal[
    "arch", "cpu_model", "clock", "cores", "cache", "memory", "kernel", "distribution", "compiler", "machine"
]


@dataclass(frozen=True, slots=True)
class HardwareCoverage:
    """How many of a hardware dimension's levels the chosen machines must have.

    Exactly one of `share` (a fraction from 0 to 1 of all levels in the fleet; 0 is one at random) and `count`
    is set. `where` is its place in the file, for messages.
    """

    dimension: HardwareDimension
    share: float | None = None
    count: int | None = None
    where: str = field(default="", compare=False)


#: Where builds are made: by the worker that measures them, by the strongest one of its architecture, or by
#: one of another architecture that has cross compilers.
BuildPlace = Literal["worker", "strongest", "cross"]


@dataclass(frozen=True, slots=True)
class FleetChoice:
    """How an experiment runs on a fleet.

    `block_trials` are the trials of a machine between two reboots, with `reboot` "block". `redundancy` spare
    workers stand by. With `build_on` "strongest", builds are made once on the strongest worker of an
    architecture and shipped to the others; with "cross" by the strongest of those in the whole fleet that
    have compilers for that architecture; "worker" builds where the trial runs. `priority`, from 0.1 to 10,
    is the experiment's among those of the same user: it divides what is that user's. With `profile` each
    build of a package that has a `profile.sh` is made, then profiled on its machine, and then measured.
    """

    reboot: RebootPolicy = "auto"
    block_trials: int = 10
    redundancy: int = 0
    debug: DebugPolicy = "first"
    build_on: BuildPlace = "worker"
    public: bool = False
    most_attempts: int = 4
    priority: float = 1.0
    profile: bool = False


@dataclass(frozen=True, slots=True)
class FactorChoice:
    """The wanted levels of one factor: named ones, a share of all available ones, or a range of numbers.

    Exactly one of `levels`, `coverage` and `span` is set; `coverage` is a fraction from 0 to 1
    (ICPE 2013 section 3.2). `by_policy` says that only the policy for the usual hidden factors, or a
    screening, names it; `where` is its place in the file, for messages.
    """

    name: str
    levels: tuple[str, ...] = ()
    coverage: float | None = None
    span: NumberRange | None = None
    treatment: Treatment = "vary"
    by_policy: bool = False
    where: str = field(default="", compare=False)


#: The level of a library at which programs find what the system has.
SYSTEM_LIBRARY = "system"


@dataclass(frozen=True, slots=True)
class Sweep:
    """A factor that the experiment file describes: `run.sh` has its level in a variable.

    `argument` is what the level replaces in commands, such as `{level}`; empty where the variable is all.
    Where levels are versions of a library, `libraries` has the folder of each, empty for what the system has,
    and `program` the file of the package that must map it, empty where none is named.
    """

    name: str
    variable: str
    argument: str
    levels: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    program: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one trial, in seconds, bytes and counts; 0 leaves a bound to the worker."""

    setup_timeout_s: float = 1800.0
    run_timeout_s: float = 600.0
    collect_timeout_s: float = 120.0
    profile_timeout_s: float = 3600.0
    output_bytes: int = 1 << 20
    archive_bytes: int = 256 << 20
    package_bytes: int = 4 << 30
    package_files: int = 200_000
    world_bytes: int = 0
    processes: int = 0
    memory_bytes: int = 0
    descriptors: int = 0


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When a sequential experiment has measured enough.

    Exactly one of `half_width` (of every mean's interval, relative to the mean), `detect` (the relative
    difference between packages that must not go unnoticed) and `hypothesis` (to be shown or refuted) is set.
    Each batch but the first adds the share
    `grow` of the rounds before it, and one at least. It ends at the latest after `max_trials` or
    `max_time_s`, whichever is set (0: none).
    """

    half_width: float | None = None
    detect: float | None = None
    hypothesis: Hypothesis | None = None
    confidence: float = 0.95
    alpha: float = 0.05
    power: float = 0.9
    max_trials: int = 0
    max_time_s: float = 0.0
    grow: float = 0.0


@dataclass(frozen=True, slots=True)
class Replication:
    """The three nested levels of repetition (EPEW 2006 section 3.1) of each design point.

    `builds` (l) of the package, `executions` (m) of each build, `measurements` (n) in each execution after
    `warmup` ones; 0 measurements leaves their number to the package. With `randomise_builds` each build
    draws its own link order and names of symbols, so that chance in compilation takes part.
    """

    builds: int = 1
    executions: int = 1
    measurements: int = 0
    warmup: int = 0
    randomise_builds: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """A package that is measured again and again to show drift: once after every `every` trials."""

    package: str
    every: int


@dataclass(frozen=True, slots=True)
class DesignChoice:
    """Which combinations of levels are measured.

    `resolution` is for fractional designs, `max_points` is the budget of D-optimal ones, `strength` says of
    how many factors a covering array holds all combinations of levels.
    """

    kind: DesignKind = "full"
    resolution: int = 0
    max_points: int = 0
    strength: int = 2


#: Before which trials a worker waits until its machine is quiet.
QuietMoment = Literal["never", "after_reboot", "always"]


@dataclass(frozen=True, slots=True)
class QuietChoice:
    """Before which trials a worker waits until its machine is quiet, and what that is.

    In a window of `window_s` at most `processors` are busy, in at most the share `pressure` of it some task
    waits for a processor, for memory, or for input and output, and the busiest disk has something to do in at
    most the share `disk`. After `limit_s` the trial runs all the same.
    """

    when: QuietMoment = "after_reboot"
    window_s: float = 2.0
    limit_s: float = 60.0
    processors: float = 0.1
    pressure: float = 0.05
    disk: float = 0.05


@dataclass(frozen=True, slots=True)
class Experiment:
    """Question, factors, responses, replication and limits, fixed before data.

    `factors` are those of the question, `nuisance` those that are only held or drawn so that they do not
    spoil the answer (or crossed like factors, where they are to vary). `loads` are packages that may run
    beside the measured one; `user_factors` are the paths of factors that the experiment brings along,
    and `sweeps` such that it describes.
    `responses` are in file order; the first one answers the question. `confidence` is the
    level of every interval and `alpha` the level of every test. `replicates` are trials of each design
    point: with `replication`, its builds times its executions.
    """

    name: str
    question: str
    replicates: int
    seed: int
    packages: tuple[Package, ...]
    constraints: Constraints
    factors: tuple[FactorChoice, ...]
    responses: tuple[Response, ...]
    limits: Limits
    build: BuildPolicy = "fresh"
    isolation: Isolation = "auto"
    baseline: str = ""
    confidence: float = 0.95
    alpha: float = 0.01
    interaction_order: int = 2
    nuisance: tuple[FactorChoice, ...] = ()
    loads: tuple[Package, ...] = ()
    user_factors: tuple[str, ...] = ()
    sweeps: tuple[Sweep, ...] = ()
    replication: Replication | None = None
    until: StoppingRule | None = None
    design: DesignChoice = DesignChoice()
    order: TrialOrder = "random"
    block: BlockCondition = "none"
    reference: Reference | None = None
    coverage: tuple[HardwareCoverage, ...] = ()
    fleet: FleetChoice = FleetChoice()
    screen: ScreenFirst = "never"
    hypothesis: Hypothesis | None = None
    quiet: QuietChoice = QuietChoice()

    @property
    def choices(self) -> tuple[FactorChoice, ...]:
        """All factors that the experiment sets, those of the question first."""
        return (*self.factors, *self.nuisance)
