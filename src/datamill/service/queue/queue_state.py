"""Who waits for which machine, what each was promised and received there, and when experiments begin."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Sum

from datamill.protocol.api.fleet.queue import FleetQueue, QueuedExperiment, QueuedUser, UserShareLine
from datamill.service.accounts import list_visible_experiments
from datamill.service.coordinator.sharing.fair_queue import (
    USUAL_PRIORITY,
    USUAL_SHARE,
    Flow,
    weigh_user,
)
from datamill.service.coordinator.sharing.foresight import Awaited, find_earliest, foresee_starts
from datamill.service.coordinator.sharing.waiting import count_lent
from datamill.service.coordinator.state.rows import select_rows
from datamill.service.models import (
    ExperimentTime,
    FleetExperiment,
    TrialCount,
    UserShare,
    UserTime,
)
from datamill.service.queue.stages import describe_stages
from datamill.service.states import (
    ENDED_TRIALS,
    OPEN_EXPERIMENTS,
    ExperimentState,
    TrialState,
    WorkerState,
)
from datamill.service.submissions.trial_estimates import estimate_trial_times, list_packages, mean_time

#: A machine's clock is the start tag of its latest attempt.
_CLOCKS = """
SELECT w.worker_id, w.state, (
    SELECT a.start_s FROM datamill_attempt a WHERE a.worker_id = w.worker_id ORDER BY a.id DESC LIMIT 1)
FROM datamill_worker w WHERE w.worker_id IN {list}
"""
#: With the states as they stand in the index of open attempts: SQLite looks through all others else.
_UNDER_WAY = """
SELECT a.worker_id, a.leased_unix_s, t.experiment_id
FROM datamill_attempt a JOIN datamill_trial t ON t.id = a.trial_id
WHERE a.state IN ('leased', 'taken') AND a.worker_id IN {list}
"""
_SERVING = (WorkerState.IDLE, WorkerState.BUSY)


@dataclass(frozen=True, slots=True)
class _State:
    """What the tables say of all who wait, by the numbers of users, experiments and workers."""

    experiments: dict[int, FleetExperiment]
    shares: dict[int, float]
    lent: dict[int, int]
    #: Trials by experiment and worker that may go, are under way, and wait for something else.
    ready: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    leased: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    later: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    #: All trials by experiment: purpose, state, and how many.
    counts: dict[int, list[tuple[str, str, int]]] = field(default_factory=lambda: defaultdict(list))
    clocks: dict[str, tuple[str, float]] = field(default_factory=dict)
    users: dict[tuple[str, int], UserTime] = field(default_factory=dict)
    times: dict[tuple[str, int], ExperimentTime] = field(default_factory=dict)
    #: The machine time that users ever had.
    ever_s: dict[int, float] = field(default_factory=dict)
    #: When the attempt began that is under way, with its experiment, by worker.
    open: dict[str, tuple[float, int]] = field(default_factory=dict)

    def weigh(self, user_id: int) -> float:
        return weigh_user(self.shares.get(user_id, USUAL_SHARE), self.lent.get(user_id, 0))

    def list_waiting(self) -> dict[str, set[int]]:
        """Return the users who wait for each worker, or have it."""
        waiting: dict[str, set[int]] = defaultdict(set)
        for number, worker_id in (*self.ready, *self.leased):
            waiting[worker_id].add(self.experiments[number].owner_id)
        return waiting


def describe_queue(viewer: User | AnonymousUser, now_s: float) -> FleetQueue:
    """Return the queue as a user may see it: experiments of others that are not public have no name."""
    state = _read_state()
    waiting = state.list_waiting()
    visible = set(
        list_visible_experiments(viewer).filter(pk__in=state.experiments).values_list("pk", flat=True)
    )
    begins = _foresee(state, now_s)
    users = [_describe_user(state, user, waiting) for user in _list_users(state, waiting)]
    users.sort(key=lambda item: (-item.share, item.user))
    return FleetQueue(
        now_s,
        tuple(users),
        tuple(
            _describe_experiment(state, stored, begins, may_see=number in visible)
            for number, stored in state.experiments.items()
        ),
    )


def describe_share(user: User) -> UserShareLine:
    """Return the share that a user has now."""
    (share,) = describe_shares([user])
    return share


def describe_shares(users: Sequence[User]) -> list[UserShareLine]:
    """Return the shares that users have now, read together."""
    given = dict(UserShare.objects.filter(user__in=users).values_list("user_id", "share"))
    all_lent = count_lent()
    shares = []
    for user in users:
        own, lent = given.get(user.pk, USUAL_SHARE), all_lent.get(user.pk, 0)
        shares.append(UserShareLine(user.username, own, lent, weigh_user(own, lent)))
    return shares


def _read_state() -> _State:
    found = FleetExperiment.objects.filter(state__in=OPEN_EXPERIMENTS).select_related("owner").order_by("pk")
    experiments = {stored.pk: stored for stored in found.defer("text", "design")}
    state = _State(experiments, dict(UserShare.objects.values_list("user_id", "share")), count_lent())
    counts = TrialCount.objects.filter(experiment__in=experiments, trials__gt=0)
    for number, worker_id, purpose, kind, trials in counts.values_list(
        "experiment_id", "worker_id", "purpose", "state", "trials"
    ):
        state.counts[number].append((purpose, kind, trials))
        if kind in ENDED_TRIALS:
            continue
        if kind == TrialState.PLANNED:
            state.ready[number, worker_id] += trials
        elif kind == TrialState.LEASED:
            state.leased[number, worker_id] += trials
        else:
            state.later[number] += trials
    workers = sorted({worker_id for _, worker_id in (*state.ready, *state.leased)})
    for worker_id, known, clock_s in select_rows(_CLOCKS, workers):
        state.clocks[worker_id] = (known, clock_s or 0.0)
    for used in UserTime.objects.filter(worker__in=workers):
        state.users[used.worker_id, used.user_id] = used
    ever = UserTime.objects.order_by().values_list("user_id").annotate(held=Sum("held_s"))
    state.ever_s.update(ever)
    for time in ExperimentTime.objects.filter(experiment__in=experiments):
        state.times[time.worker_id, time.experiment_id] = time
    for worker_id, leased_s, number in select_rows(_UNDER_WAY, workers):
        state.open[worker_id] = (leased_s, number)
    return state


def _list_users(state: _State, waiting: Mapping[str, set[int]]) -> list[User]:
    wanted = {user for users in waiting.values() for user in users}
    owners = {stored.owner_id: stored.owner for stored in state.experiments.values()}
    return [owners[user] for user in sorted(wanted)]


def _describe_user(state: _State, user: User, waiting: Mapping[str, set[int]]) -> QueuedUser:
    share = state.weigh(user.pk)
    machines = [worker_id for worker_id, users in waiting.items() if user.pk in users]
    promised = [share / sum(state.weigh(other) for other in waiting[worker_id]) for worker_id in machines]
    promised_s = received_s = 0.0
    for worker_id in machines:
        used = state.users.get((worker_id, user.pk))
        clock_s = state.clocks[worker_id][1]
        # Who was passed by the clock has paused, and had no turn since.
        if used is not None and used.virtual_s >= clock_s:
            promised_s += used.share * max(0.0, clock_s - used.since_virtual_s)
            received_s += used.held_s - used.since_held_s
    return QueuedUser(
        user.username,
        state.shares.get(user.pk, USUAL_SHARE),
        state.lent.get(user.pk, 0),
        share,
        len(machines),
        sum(promised) / len(promised),
        promised_s,
        received_s,
        state.ever_s.get(user.pk, 0.0),
    )


def _describe_experiment(
    state: _State, stored: FleetExperiment, begins: Mapping[int, float], *, may_see: bool
) -> QueuedExperiment:
    number = stored.pk
    ready = {worker: trials for (other, worker), trials in state.ready.items() if other == number}
    leased = {worker: trials for (other, worker), trials in state.leased.items() if other == number}
    return QueuedExperiment(
        experiment=number,
        name=stored.name if may_see else "",
        owner=stored.owner.username,
        state=stored.state,
        priority=USUAL_PRIORITY if stored.priority is None else stored.priority,
        waits_for=_say_what_for(stored, bool(ready), bool(leased), may_see=may_see),
        ready=sum(ready.values()),
        under_way=sum(leased.values()),
        later=state.later.get(number, 0),
        machines=len(ready.keys() | leased.keys()),
        begins_s=0.0 if leased else begins.get(number),
        held_s=sum(time.held_s for (_, other), time in state.times.items() if other == number),
        stages=describe_stages(state.counts[number]),
    )


def _say_what_for(stored: FleetExperiment, is_ready: bool, is_leased: bool, *, may_see: bool) -> str:
    if stored.state == ExperimentState.HELD:
        return (stored.state_reason or "a person") if may_see else "a person"
    if is_ready:
        return "its turn"
    if is_leased:
        return "trials under way"
    if stored.state == ExperimentState.DEBUGGING:
        return "its debug trials to be judged"
    return "a look at its latest batch" if stored.open_position is not None else "the coordinator"


def _foresee(state: _State, now_s: float) -> dict[int, float]:
    """Return when experiments with trials that may go begin, of which there is a telling."""
    usual = _estimate_trial_times(state)
    at_worker: dict[str, list[Awaited]] = defaultdict(list)
    for (number, worker_id), trials in state.ready.items():
        trial_s = _find_mean(state, worker_id, number) or usual.get(number)
        at_worker[worker_id].append(Awaited(_find_flow(state, worker_id, number), trials, trial_s))
    machines = []
    for worker_id, (known, clock_s) in state.clocks.items():
        free_s = _find_free(state, worker_id, usual, now_s)
        if known in _SERVING and free_s is not None:
            machines.append(foresee_starts(at_worker[worker_id], clock_s, free_s))
    return find_earliest(machines)


def _find_flow(state: _State, worker_id: str, number: int) -> Flow:
    stored = state.experiments[number]
    used, time = state.users.get((worker_id, stored.owner_id)), state.times.get((worker_id, number))
    return Flow(
        number,
        stored.owner_id,
        state.weigh(stored.owner_id),
        USUAL_PRIORITY if stored.priority is None else stored.priority,
        used.virtual_s if used else 0.0,
        used.clock_s if used else 0.0,
        time.virtual_s if time else 0.0,
    )


def _find_free(state: _State, worker_id: str, usual: Mapping[int, float], now_s: float) -> float | None:
    """Return the time until a worker has ended what it does; None where there is no telling."""
    if worker_id not in state.open:
        return 0.0
    leased_s, number = state.open[worker_id]
    trial_s = _find_mean(state, worker_id, number) or usual.get(number)
    return None if trial_s is None else max(0.0, leased_s + trial_s - now_s)


def _find_mean(state: _State, worker_id: str, number: int) -> float | None:
    """Return the mean time of a trial of an experiment on a worker; None when none has ended there."""
    time = state.times.get((worker_id, number))
    return time.held_s / time.attempts if time is not None else None


def _estimate_trial_times(state: _State) -> dict[int, float]:
    """Return how long a trial of each experiment takes: on other machines, or of its packages lately."""
    sums: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for (_, number), time in state.times.items():
        sums[number][0] += time.held_s
        sums[number][1] += time.attempts
    usual = {number: held_s / attempts for number, (held_s, attempts) in sums.items()}
    unknown = {
        number: list_packages(bytes(stored.head))
        for number, stored in state.experiments.items()
        if number not in usual
    }
    # Many experiments have one package: each is looked for once.
    times = estimate_trial_times([item for packages in unknown.values() for item in packages], None)
    for number, packages in unknown.items():
        known = mean_time({item: times[item] for item in packages if item in times})
        if known is not None:
            usual[number] = known
    return usual
