"""From a plan to the rows of an experiment and its trials."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, islice

import msgspec
from django.contrib.auth.models import User
from django.db import transaction

from datamill.design.batches import find_batches
from datamill.design.design import PlannedTrial
from datamill.design.fleet.boots import varies_boots
from datamill.design.fleet.fleet_records import Candidate, FleetPlan
from datamill.design.fleet.reboots import list_reboots, settle_reboots
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment as Asked
from datamill.results.bundles.bundle_head import BundleHead
from datamill.service.coordinator.experiments.design_pieces import DesignPieces
from datamill.service.coordinator.experiments.experiments import ENTERING, drop_entry
from datamill.service.coordinator.experiments.follow_ups import EarlierScreening, note_follow_up
from datamill.service.coordinator.experiments.repeated_submission import check_repetition
from datamill.service.coordinator.experiments.stages import (
    StageName,
    Stages,
    find_builders,
    find_machines,
    list_stages,
    name_target,
    number_stages,
    read_stage_rows,
)
from datamill.service.coordinator.joining.policies import list_shipped_files
from datamill.service.coordinator.leasing.dependents import of_open_batch
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
from datamill.service.coordinator.state.rows import execute, insert_rows
from datamill.service.models import (
    ExperimentFile,
    FleetExperiment,
    FleetWorker,
    Look,
    Quarantine,
    Spare,
    Trial,
)
from datamill.service.states import ExperimentState, TrialPurpose, TrialState, WorkerState

#: Trials that one step enters: more would keep reports waiting.
TRIALS_AT_ONCE = 2_000
_ENCODER = msgspec.json.Encoder()
_COLUMNS = (
    "experiment_id", "trial_id", "purpose", "worker_id", "position", "block", "package_sha256", "reboot",
    "state", "attempts", "needs_id", "plan",
)  # fmt: skip
_PLAN, _POSITION = _COLUMNS.index("plan"), _COLUMNS.index("position")
#: A position behind all others.
LAST_POSITION = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class NewExperiment:
    """An experiment to be stored.

    `experiment` is what `text` says with the submitter's options; `hold` lets the design wait for its owner
    after the debug trials. `trials` are those of the design where the plan comes without them. One that is
    meant `once` is not stored where the same is under way. `follow` is what follows this one
    by itself, if it is a screening that comes first; `screening` is the one that came before it. `enter_more`
    enters, given the number, what else belongs to the transaction in which it may begin.
    """

    owner: User
    text: str
    experiment: Asked
    head: BundleHead
    plan: FleetPlan
    hold: bool = False
    trials: Collection[PlannedTrial] | None = None
    once: bool = False
    follow: bytes | None = None
    screening: EarlierScreening | None = None
    enter_more: Callable[[int], None] = lambda _: None

    @property
    def planned(self) -> Collection[PlannedTrial]:
        """The trials of the design, in their order."""
        return self.plan.design.trials if self.trials is None else self.trials


def create_experiment(new: NewExperiment, now_s: float) -> int:
    """Store an experiment with all its trials at once, and return its number.

    Raises:
        InputError: when a package is in quarantine, a worker left meanwhile, there is nothing to do, or the
            same was submitted before and this is meant once.
    """
    with transaction.atomic():
        entry = Entry(new, now_s)
        number = entry.begin()
        while entry.add_trials():
            pass
        entry.finish(at_once=True)
    return number


class Entry:
    """An experiment on its way into the database, in pieces: a million trials take a minute.

    Until it is finished its state says that it is being entered, and nothing of it is leased or released.
    Each step is a transaction of its own unless the caller makes one of all.
    """

    def __init__(self, new: NewExperiment, now_s: float) -> None:
        # What is stored is what happens, and no default.
        settled = settle_reboots(new.experiment, (*new.plan.chosen, *new.plan.spares))
        new = replace(new, experiment=settled)
        self._new = new
        self._now_s = now_s
        # Who measures what others build cannot try it by building it: the builds come first, and tell.
        cross = new.experiment.fleet.build_on == "cross"
        self._debug = [] if cross else _plan_debug_trials(new.experiment, new.plan, new.planned)
        self._stages = list_stages(new.experiment, new.plan, new.head, new.planned)
        self._state = _choose_state(bool(self._debug), new.hold)
        self._number = 0
        self._batches: Iterator[int] = iter(())
        #: The last position of each batch by now; one alone, of all, where nothing waits for looks.
        self._batch_ends: list[int] = []
        self._rows: Iterator[tuple[object, ...]] = iter(())
        self._seal = hashlib.sha256()
        self._pieces = DesignPieces(self._seal.update)

    @transaction.atomic
    def begin(self) -> int:
        """Store the experiment with its debug trials and builds, and return its number.

        Raises:
            InputError: when a package is in quarantine, a worker left meanwhile, or there is nothing to do.
        """
        new, asked, plan = self._new, self._new.experiment, self._new.plan
        if not new.planned or not plan.chosen:
            raise InputError("the experiment has no trial that a worker could make", where=asked.name)
        digests = {item.name: item.sha256 for item in new.head.packages}
        if new.once:
            check_repetition(new.owner, new.text, asked, new.head, self._now_s)
        _check_packages(new)
        _check_workers(plan)
        debugging = self._state == ExperimentState.DEBUGGING
        stored = FleetExperiment.objects.create(
            owner=new.owner,
            name=asked.name,
            public=asked.fleet.public,
            state=ExperimentState.DEBUGGING if debugging else ExperimentState.HELD,
            state_reason=ENTERING,
            text=new.text,
            head=msgspec.json.encode(new.head),
            design=_encode_design(plan),
            reboot=asked.fleet.reboot,
            most_attempts=asked.fleet.most_attempts,
            priority=asked.fleet.priority,
            hold=new.hold,
            submitted_unix_s=self._now_s,
            follow=new.follow,
            screened=None if new.screening is None else new.screening.screened,
        )
        self._number = int(stored.id)
        _enter_files(stored, new.head)
        if new.screening is not None:
            note_follow_up(new.screening, self._number, self._now_s)
        Spare.objects.bulk_create(
            [Spare(experiment=stored, worker_id=spare.worker_id) for spare in plan.spares]
        )
        places = {candidate.name: candidate.worker_id for candidate in plan.chosen}
        rows = _TrialRows(stored.id, asked, digests, places)
        insert_rows(Trial, _COLUMNS, rows.list_debug(self._debug, first=-len(self._debug)))
        if asked.fleet.debug != "only":
            self._stages = _insert_stages(rows, plan, self._stages, first=-len(self._debug))
            self._rows = rows.list_design(plan, new.planned, self._stages)
            if asked.until is not None:
                self._batches = find_batches(asked, new.planned)
        return self._number

    @transaction.atomic
    def add_trials(self) -> bool:
        """Store some more trials; return whether there are more.

        Raises:
            InputError: when the experiment was ended or held meanwhile.
        """
        self._check_entering()
        some = list(islice(self._rows, TRIALS_AT_ONCE))
        for row in some:
            plan, position = row[_PLAN], row[_POSITION]
            assert isinstance(plan, bytes)
            assert isinstance(position, int)
            self._pieces.add(plan)
            for batch in islice(self._batches, 1):
                self._batch_ends[batch - 1 :] = [position]
        insert_rows(Trial, _COLUMNS, some)
        return len(some) == TRIALS_AT_ONCE

    @transaction.atomic
    def finish(self, *, at_once: bool = False) -> None:
        """Let the experiment begin: with all that may go `at_once`, or with as many as each step lets go.

        Raises:
            InputError: when it was ended or held meanwhile.
        """
        self._check_entering()
        running = self._state == ExperimentState.RUNNING
        self._enter_looks()
        if at_once or not running:
            # What may go at once: trials that need nothing, of the first batch, and what such trials need.
            ready = {
                ExperimentState.RUNNING: "needs_id IS NULL AND "
                + of_open_batch("datamill_trial", str(self._open)),
                ExperimentState.DEBUGGING: "purpose = 'debug'",
            }.get(self._state, "1 = 0")
            execute(
                f"UPDATE datamill_trial SET state = 'planned' WHERE experiment_id = %s AND {ready}",
                [self._number],
            )
        self._pieces.end(_encode_design(self._new.plan))
        FleetExperiment.objects.filter(pk=self._number).update(
            design_sha256=self._seal.hexdigest(),
            state=self._state,
            state_reason="waits for its owner" if self._state == ExperimentState.HELD else "",
            releasing=running and not at_once,
        )
        self._tell()
        self._new.enter_more(self._number)

    @transaction.atomic
    def drop(self) -> None:
        """Cancel what was entered so far, if it is still being entered."""
        drop_entry(self._number, "its trials could not be entered", self._now_s)

    @property
    def _open(self) -> int:
        """The position up to which trials may go before anything was looked at."""
        return self._batch_ends[0] if self._batch_ends else LAST_POSITION

    def _enter_looks(self) -> None:
        """Store the batches, and let none but the first go."""
        if not self._batch_ends:
            return
        insert_rows(
            Look,
            ("experiment_id", "number", "last_position"),
            ((self._number, number, end) for number, end in enumerate(self._batch_ends, start=1)),
        )
        FleetExperiment.objects.filter(pk=self._number).update(open_position=self._open)

    def _check_entering(self) -> None:
        if not FleetExperiment.objects.filter(pk=self._number, state_reason=ENTERING).exists():
            raise InputError(
                f"experiment {self._number} was ended while its trials were entered",
                where=self._new.experiment.name,
                remedy="Submit it again.",
            )

    def _tell(self) -> None:
        new = self._new
        add_events(
            [
                NewEvent(
                    EventKind.SUBMITTED,
                    user=new.owner.username,
                    experiment_id=self._number,
                    package_sha256=item.sha256,
                    detail=f"{new.experiment.name}: package {item.name}, {len(new.planned)} trials in all on "
                    f"{len(new.plan.chosen)} workers.",
                )
                for item in new.head.packages
            ],
            self._now_s,
        )


def _enter_files(stored: FleetExperiment, head: BundleHead) -> None:
    """Enter which files an experiment has, so that packages find the experiments that used them."""
    brought = (("package", head.packages), ("load", head.loads), ("factor", head.factors))
    ExperimentFile.objects.bulk_create(
        ExperimentFile(experiment=stored, kind=kind, name=item.name, sha256=item.sha256)
        for kind, items in brought
        for item in items
    )


def _encode_design(plan: FleetPlan) -> bytes:
    """Return what a design has besides its trials, as JSON."""
    return msgspec.json.encode(replace(plan.design, trials=()))


def _check_packages(new: NewExperiment) -> None:
    packed = {item.sha256: item.name for item in list_shipped_files(new.head)}
    held = Quarantine.objects.filter(sha256__in=packed, lifted_unix_s__isnull=True).first()
    if held is not None:
        raise InputError(
            f"package {packed[held.sha256]} is in quarantine: {held.reason}",
            where=new.experiment.name,
            remedy="Find out why on your own machine; an administrator can then lift the quarantine.",
        )


def _check_workers(plan: FleetPlan) -> None:
    wanted = {candidate.worker_id for candidate in (*plan.chosen, *plan.spares)}
    gone = FleetWorker.objects.filter(worker_id__in=wanted).exclude(state=WorkerState.REMOVED)
    missing = wanted - set(gone.values_list("worker_id", flat=True))
    if missing:
        names = [item.name for item in (*plan.chosen, *plan.spares) if item.worker_id in missing]
        raise InputError(
            f"{', '.join(names)} left the fleet after the plan was made",
            remedy="Submit the experiment again: it is then planned without.",
        )


def _choose_state(debug: bool, hold: bool) -> ExperimentState:
    if debug:
        return ExperimentState.DEBUGGING
    return ExperimentState.HELD if hold else ExperimentState.RUNNING


def _plan_debug_trials(
    asked: Asked, plan: FleetPlan, planned: Iterable[PlannedTrial]
) -> list[tuple[PlannedTrial, Candidate]]:
    """Return a trial of each package on each architecture, where it is free first (ICPE 2013 section 6)."""
    if asked.fleet.debug == "never":
        return []
    first: dict[str, Candidate] = {}
    for candidate in sorted(plan.chosen, key=lambda item: (item.free_s, item.name)):
        first.setdefault(candidate.hardware.get("arch", ""), candidate)
    wanted = {(candidate.name, package.name) for candidate in first.values() for package in asked.packages}
    found: dict[tuple[str, str], PlannedTrial] = {}
    for trial in planned:
        if len(found) == len(wanted):
            break
        key = (trial.levels.get("machine", plan.chosen[0].name), trial.package)
        if key in wanted and trial.purpose == "question":
            found.setdefault(key, trial)
    numbers = count(1)
    return [
        (replace(found[key], trial_id=f"debug{next(numbers):02d}"), candidate)
        for candidate in first.values()
        for package in asked.packages
        if (key := (candidate.name, package.name)) in found
    ]


def _insert_stages(rows: _TrialRows, plan: FleetPlan, stages: Stages, first: int) -> Stages:
    """Insert a trial for each profile, before all others, and each build, before these, and return them."""
    builds, profiles = number_stages(stages.builds, "build"), number_stages(stages.profiles, "profile")
    profiled_from = first - len(profiles)
    if builds:
        insert_rows(Trial, _COLUMNS, rows.list_builds(builds, plan, first=profiled_from - len(builds)))
        stored = read_stage_rows(rows.experiment_id, builds, TrialPurpose.BUILD)
        stages = replace(stages, build_rows=stored)
    if profiles:
        insert_rows(Trial, _COLUMNS, rows.list_profiles(profiles, plan, stages, first=profiled_from))
        stored = read_stage_rows(rows.experiment_id, profiles, TrialPurpose.PROFILE)
        stages = replace(stages, profile_rows=stored)
    return stages


@dataclass(frozen=True, slots=True)
class _TrialRows:
    """Makes rows of trials, one at a time: a million of them must not be in memory twice."""

    experiment_id: int
    asked: Asked
    digests: Mapping[str, str]
    places: Mapping[str, str]

    def list_debug(
        self, trials: list[tuple[PlannedTrial, Candidate]], first: int
    ) -> Iterator[tuple[object, ...]]:
        """Yield rows of debug trials, before all others."""
        boots = varies_boots(self.asked)
        for position, (trial, candidate) in enumerate(trials, start=first):
            yield self._make(trial, candidate.worker_id, position, TrialPurpose.DEBUG, reboot=boots)

    def list_builds(
        self, trials: list[tuple[PlannedTrial, StageName]], plan: FleetPlan, first: int
    ) -> Iterator[tuple[object, ...]]:
        """Yield rows of builds that other trials need."""
        builders = find_builders(self.asked, plan)
        for position, (trial, name) in enumerate(trials, start=first):
            builder = builders[name[0]]
            made = name_target(trial, name[0], builder)
            yield self._make(made, builder.worker_id, position, TrialPurpose.BUILD, reboot=False)

    def list_profiles(
        self, trials: list[tuple[PlannedTrial, StageName]], plan: FleetPlan, stages: Stages, first: int
    ) -> Iterator[tuple[object, ...]]:
        """Yield rows of profiles, each of a build that is stored."""
        machines, boots = find_machines(plan), varies_boots(self.asked)
        for position, (trial, name) in enumerate(trials, start=first):
            needs, worker_id = stages.find_build(trial), machines[name[0]].worker_id
            yield self._make(trial, worker_id, position, TrialPurpose.PROFILE, reboot=boots, needs=needs)

    def list_design(
        self,
        plan: FleetPlan,
        planned: Collection[PlannedTrial],
        stages: Stages,
    ) -> Iterator[tuple[object, ...]]:
        """Yield rows of the design's trials in their order."""
        only = plan.chosen[0].name
        reboots = list_reboots(self.asked, planned)
        for trial, reboot in zip(planned, reboots, strict=True):
            place = trial.levels.get("machine", only)
            yield self._make(
                trial,
                self.places[place],
                trial.order,
                TrialPurpose.DESIGN,
                reboot=reboot,
                needs=stages.find_need(trial),
            )

    def _make(
        self,
        trial: PlannedTrial,
        worker_id: str,
        position: int,
        purpose: TrialPurpose,
        *,
        reboot: bool,
        needs: int | None = None,
    ) -> tuple[object, ...]:
        return (
            self.experiment_id,
            trial.trial_id,
            purpose.value,
            worker_id,
            position,
            trial.block,
            self.digests[trial.package],
            reboot,
            TrialState.WAITING.value,
            0,
            needs,
            _ENCODER.encode(trial),
        )
