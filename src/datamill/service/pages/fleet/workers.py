"""Pages of the machines: the list, one machine, and what can be done to it."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet, Sum, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from datamill.experiment.factors.offers import explain_unavailable
from datamill.experiment.quantities import format_duration
from datamill.service.accounts import (
    NotFoundError,
    find_own_worker,
    find_user,
    find_worker_by_name,
    is_admin,
    list_visible_experiments,
)
from datamill.service.coordinator.joining.enrolment import CLOCK_OFF_S
from datamill.service.coordinator.joining.hardware import read_inventory, read_policy
from datamill.service.coordinator.presence.members import drain_worker, resume_worker
from datamill.service.experiment_search import MOST_CHARACTERS, split_search
from datamill.service.machines.doings import Doing, list_doings
from datamill.service.machines.lending import describe_lending
from datamill.service.machines.noise import MachineNoise, judge_machine, recall_noises
from datamill.service.membership import dismiss_machine, make_enrolment_token
from datamill.service.models import Attempt, EnrolmentToken, Event, FleetWorker, TrialCount
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.experiments.events import tell_events
from datamill.service.pages.experiments.trials.trial_facts import show_trial
from datamill.service.progress import name_state
from datamill.service.serving.storage.writer import run_as_writer
from datamill.service.states import ENDED_TRIALS, WorkerState

_WORKERS_A_PAGE = 50
_LATEST = 25
#: How long a token may live, in seconds, and what the page calls it.
TOKEN_LIVES = ((3600, "1 hour"), (86_400, "1 day"), (604_800, "1 week"))


@dataclass(frozen=True, slots=True)
class FailureRate:
    """How many of a machine's latest attempts failed by its fault.

    `rate` and that of all others, `peers`, are in percent, None where no attempt ended; `high` is at least
    twice that of the others.
    """

    failed: int
    ended: int
    rate: float | None
    peers: float | None
    high: bool


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A machine in the list; `noise` is None where it has yet to be judged, `load` the trials it has left."""

    worker: FleetWorker
    failures: FailureRate
    load: int
    doing: Doing | None
    noise: MachineNoise | None


@require_GET
@member_page
def list_workers(request: HttpRequest) -> HttpResponse:
    """The machines of the fleet."""
    return _show_workers(request, {})


@require_POST
@member_page
def make_token(request: HttpRequest) -> HttpResponse:
    """Make a token and show the command that lets a machine join: once, since only a digest is kept."""
    lives = {str(life_s): life_s for life_s, _ in TOKEN_LIVES}
    life_s = lives.get(request.POST.get("life", ""), 86_400)
    token = make_enrolment_token(find_user(request), time.time(), life_s)
    address = request.build_absolute_uri("/").rstrip("/")
    response = _show_workers(request, {"token": token, "address": address, "life_s": life_s})
    response["Cache-Control"] = "no-store"
    return response


@require_GET
@member_page
def show_worker(request: HttpRequest, name: str) -> HttpResponse:
    """One machine: what it is, what it offers, and what happened to it."""
    worker = find_worker_by_name(name)
    inventory = read_inventory(worker)
    mine = _is_mine(request, worker)
    serves = worker.state in (WorkerState.IDLE, WorkerState.BUSY)
    visible = list_visible_experiments(find_user(request))
    attempts = (
        Attempt.objects.filter(worker=worker, trial__experiment__in=visible)
        .select_related("trial__experiment", "trial__worker")
        .order_by("-id")[:_LATEST]
    )
    events = Event.objects.filter(worker_id=worker.worker_id)
    if not is_admin(find_user(request)):
        events = events.filter(Q(experiment_id=None) | Q(experiment_id__in=visible.values("pk")))
    context = {
        "worker": worker,
        "mine": mine,
        "lending": describe_lending(worker, find_user(request), serves=serves) if mine else None,
        "noise": judge_machine(worker.pk),
        "doing": list_doings(find_user(request), [worker]).get(worker.pk),
        "inventory": inventory,
        "policy": read_policy(worker),
        "offers": [(offer, explain_unavailable(offer)) for offer in inventory.factors],
        "attempts": [
            (attempt, show_trial(attempt.trial), name_state(attempt.trial.purpose, attempt.state))
            for attempt in attempts
        ],
        "events": tell_events(events.order_by("-id")[:_LATEST]),
        "clock_off": _describe_clock(worker.clock_offset_s),
        "health": _count_failures([worker])[worker.pk],
        "load": _count_load([worker])[worker.pk],
    }
    return show_page(request, "fleet/worker.html", context, section="workers")


@require_GET
@member_page
def show_noise(request: HttpRequest, name: str) -> HttpResponse:
    """How often trials on a machine were disturbed, for its row."""
    context = {"noise": judge_machine(find_worker_by_name(name).pk)}
    return show_page(request, "fleet/parts/noise.html", context)


@require_POST
@member_page
def change_worker(request: HttpRequest, name: str, change: str) -> HttpResponse:
    """Drain, resume or remove a machine of one's own."""
    worker = find_own_worker(find_user(request), name)
    user = find_user(request)
    if change == "drain":
        run_as_writer(drain_worker, name, user, time.time())
        said = f"{name} gets no further trials; what it had goes to other machines."
    elif change == "resume":
        run_as_writer(resume_worker, name, user, time.time())
        said = f"{name} gets trials again."
    elif change == "remove":
        dismiss_machine(worker, user, time.time())
        said = f"{name} is removed: its credentials are void, and what it measured stays."
    else:
        raise NotFoundError("there is no such action")
    messages.success(request, said, extra_tags="good")
    return redirect("worker", name)


def _show_workers(request: HttpRequest, extra: dict[str, Any]) -> HttpResponse:
    state, search = request.GET.get("state", ""), request.GET.get("search", "")[:MOST_CHARACTERS].strip()
    workers = FleetWorker.objects.select_related("owner").defer("inventory", "policy").order_by("name")
    if state in WorkerState.values:
        workers = workers.filter(state=state)
    else:
        state, workers = "", workers.exclude(state=WorkerState.REMOVED)
    page = Paginator(_search(workers, search), _WORKERS_A_PAGE).get_page(request.GET.get("page"))
    tokens = EnrolmentToken.objects.filter(owner_id=request.user.pk, used_unix_s=None)
    asked = {name: value for name, value in (("state", state), ("search", search)) if value}
    context = {
        "rows": _list_rows(request, list(page)),
        "page": page,
        "state": state,
        "search": search,
        "states": WorkerState.values,
        "query": f"{urlencode(asked)}&" if asked else "",
        "base": reverse("workers"),
        "lives": TOKEN_LIVES,
        "open_tokens": tokens.filter(expires_unix_s__gt=time.time()).count(),
    }
    return show_page(request, "fleet/workers.html", context | extra, section="workers")


def _search(workers: QuerySet[FleetWorker], search: str) -> QuerySet[FleetWorker]:
    """Return the machines that have all words in their name, owner, hardware or system."""
    if search:
        workers = workers.annotate(facts=Cast("hardware", TextField()))
    for word in split_search(search):
        matching = Q(name__icontains=word) | Q(owner__username__iexact=word) | Q(facts__icontains=word)
        workers = workers.filter(matching)
    return workers


def _list_rows(request: HttpRequest, workers: list[FleetWorker]) -> list[WorkerRow]:
    failures, load = _count_failures(workers), _count_load(workers)
    doings = list_doings(find_user(request), workers)
    noises = recall_noises([worker.pk for worker in workers])
    return [
        WorkerRow(worker, failures[worker.pk], load[worker.pk], doings.get(worker.pk), noises.get(worker.pk))
        for worker in workers
    ]


def _describe_clock(offset_s: float) -> str:
    """Say how a clock is off, empty when it is not."""
    if abs(offset_s) <= CLOCK_OFF_S:
        return ""
    return f"{format_duration(abs(offset_s))} {'ahead of' if offset_s > 0 else 'behind'} ours"


def _is_mine(request: HttpRequest, worker: FleetWorker) -> bool:
    return worker.owner_id == request.user.pk or is_admin(find_user(request))


def _count_load(workers: list[FleetWorker]) -> dict[str, int]:
    """Return how many trials each machine still has to make."""
    rows = (
        TrialCount.objects.filter(worker__in=workers, trials__gt=0)
        .exclude(state__in=ENDED_TRIALS)
        .order_by()
        .values_list("worker_id")
        .annotate(count=Sum("trials"))
    )
    return defaultdict(int, dict(rows))


def _count_failures(workers: list[FleetWorker]) -> dict[str, FailureRate]:
    """Return how many of each machine's latest attempts failed by its fault, beside those of all others."""
    everyone = FleetWorker.objects.exclude(state=WorkerState.REMOVED).aggregate(
        ended=Sum("ended_attempts", default=0), failed=Sum("failed_attempts", default=0)
    )
    told = {}
    for worker in workers:
        failed, ended = worker.failed_attempts, worker.ended_attempts
        there = worker.state != WorkerState.REMOVED
        others = everyone["ended"] - (ended if there else 0)
        others_failed = everyone["failed"] - (failed if there else 0)
        told[worker.pk] = FailureRate(
            failed=failed,
            ended=ended,
            rate=100 * failed / ended if ended else None,
            peers=100 * others_failed / others if others else None,
            high=others > 0 and failed > 1 and failed * others >= 2 * ended * others_failed,
        )
    return told
