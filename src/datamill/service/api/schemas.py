"""Bodies of requests and answers of the API, as `openapi.json` shows them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field, StringConstraints

from datamill.experiment.records import DebugPolicy, RebootPolicy
from datamill.service.submissions.planning import FileKind, Submission, SubmissionOptions, SubmittedFile

#: PostgreSQL cannot keep a NUL in a text, and nobody means one.
Name = Annotated[str, StringConstraints(max_length=128, pattern=r"^[^\x00]*$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, le=2**53)]
#: Identities in tables: what 63 bits hold.
Number = Annotated[int, Field(ge=0, le=2**63 - 1)]


class Problem(Schema):
    """Why a request was refused: what is wrong, where, and what to do."""

    message: str
    where: str = ""
    remedy: str = ""
    missing_files: list[str] = Field(default_factory=list)


class SubmittedFileIn(Schema):
    """An archive that an experiment brings."""

    name: Name
    kind: FileKind
    sha256: Sha256
    bytes: Count
    files: Count = 0
    has_setup: bool = False
    has_collect: bool = True
    summary: Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^\x00]*$")] = ""


class SubmissionOptionsIn(Schema):
    """What takes the place of `[fleet]` in the experiment file; absent leaves it as it is.

    With `once` it is refused where the same experiment was submitted just now or is still under way.
    """

    reboot: RebootPolicy | None = None
    debug: DebugPolicy | None = None
    redundancy: Annotated[int, Field(ge=0, le=1000)] | None = None
    public: bool | None = None
    hold: bool = False
    once: bool = False


class SubmissionIn(Schema):
    """An experiment to be planned, or run.

    With `plan`, the digest of the plan that a user confirmed, it is run only if that is still its plan.
    """

    text: Annotated[str, StringConstraints(max_length=1 << 20)]
    file_name: Name = "experiment.toml"
    packages: Annotated[list[SubmittedFileIn], Field(max_length=1000)]
    options: SubmissionOptionsIn = SubmissionOptionsIn()
    plan: Sha256 | Literal[""] = ""

    def to_submission(self) -> Submission:
        """Return the submission as the planner knows it."""
        return Submission(
            text=self.text,
            file_name=self.file_name,
            files=tuple(SubmittedFile(**item.dict()) for item in self.packages),
            options=SubmissionOptions(**self.options.dict()),
        )


class ChosenWorker(Schema):
    """A worker that takes part, and what it brings."""

    name: str
    why: str


class ExcludedWorker(Schema):
    """A worker that cannot take part, and why."""

    name: str
    reason: str


class CoveredLevels(Schema):
    """Levels of a dimension that are in the design, of all that the fleet has."""

    chosen: list[str]
    of: list[str]


class FactorLevels(Schema):
    """A factor of the design with its levels; `treatment` is empty where the design varies it."""

    name: str
    levels: list[str]
    treatment: str


class Preview(Schema):
    """The plan of a submission; `finish_s` is from now, null when no trial of its packages was ever timed.

    `digest` stands for what a user confirms of it: machines, levels, trials, reboots, debug trials.
    """

    name: str
    workers: list[ChosenWorker]
    spares: list[str]
    ineligible: list[ExcludedWorker]
    coverage: dict[str, CoveredLevels]
    factors: list[FactorLevels]
    points: int
    replicates: int
    trials: int
    debug_trials: int
    reboot: str
    debug: str
    finish_s: float | None
    warnings: list[str]
    missing_files: list[str]
    digest: str


class RefusedSubmission(Problem):
    """Why a submission was refused; `plan` is the one that it has now, where another was confirmed."""

    plan: Preview | None = None


class Submitted(Preview):
    """The plan of an experiment that was accepted, and its number."""

    id: int


class StoppedOut(Schema):
    """A package whose first trials failed alike: its other trials are cancelled."""

    package: str
    sha256: str
    reason: str
    stopped_unix_s: float


class ExperimentOut(Schema):
    """An experiment; `trials` counts those of its design by state, `workers` the same for each worker.

    `stopped` are the packages that get no more leases in it, since their first trials failed alike.
    """

    id: int
    name: str
    owner: str
    public: bool
    state: str
    state_reason: str
    reboot: str
    submitted_unix_s: float
    ended_unix_s: float | None
    trials: dict[str, int]
    debug_trials: dict[str, int]
    workers: dict[str, dict[str, int]]
    finish_s: float | None
    stopped: list[StoppedOut]


class AnswerOut(Schema):
    """What an experiment says; the first sentence of `answer` answers its question.

    Besides these keys it has all others of `datamill report --json`: responses with their figures, drift,
    uncertainty, quantiles, screening.
    """

    experiment: str
    question: str
    answer: list[str]
    mattered: list[str]
    n: int
    confidence: float
    method: str
    warnings: list[str]
    missing: list[str]


class ExperimentLine(Schema):
    """An experiment in a list."""

    id: int
    name: str
    owner: str
    public: bool
    state: str
    state_reason: str
    submitted_unix_s: float
    ended_unix_s: float | None


class TrialOut(Schema):
    """A trial; `failure` says why its latest attempt did not count; debug trials and builds end `done`."""

    trial_id: str
    purpose: str
    position: int
    worker: str
    package: str
    levels: dict[str, str]
    state: str
    attempts: int
    outcome: str
    failure: str


class TrialPage(Schema):
    """Some trials in their order; ask for the rest with `after=next`."""

    trials: list[TrialOut]
    next: int | None


class EventOut(Schema):
    """What happened: who, what package, where, when."""

    id: int
    unix_s: float
    kind: str
    user: str
    worker: str
    experiment: int | None
    attempt: str
    package_sha256: str
    detail: str


class EventPage(Schema):
    """Some events, oldest first; ask for the rest with `after=next`."""

    events: list[EventOut]
    next: int | None


class WorkerOut(Schema):
    """A machine of the fleet: `hardware` has its level in each dimension, `attempts` counts by state."""

    name: str
    worker_id: str
    owner: str
    state: str
    state_reason: str
    hardware: dict[str, str]
    clock_offset_s: float
    joined_unix_s: float
    heard_unix_s: float
    attempts: dict[str, int] = Field(default_factory=dict)


class WorkerDetail(WorkerOut):
    """A machine with all that it told of itself, and what its owner allows."""

    inventory: dict[str, Any]
    policy: dict[str, Any]


class TokenIn(Schema):
    """How long an enrolment token is good for, in seconds."""

    life_s: Annotated[float, Field(gt=0, le=31_536_000)] = 86_400


class TokenOut(Schema):
    """A token that lets one machine join, once."""

    token: str
    expires_unix_s: float


class Me(Schema):
    """Whose key this is, and which datamill the coordinator is."""

    user: str
    admin: bool
    datamill: str


class QuarantineOut(Schema):
    """A package that is not leased."""

    sha256: str
    name: str
    reason: str
    since_unix_s: float
