"""Experiments side by side: what each answered, what differs, and what their results are compared by."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

import msgspec
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.http import require_GET

from datamill.experiment.errors import InputError
from datamill.results.bundles.bundle_head import BundleHead
from datamill.service.accounts import find_user
from datamill.service.answers.compared.comparing import MOST_COMPARED, find_compared
from datamill.service.answers.compared.offers import find_common_ground
from datamill.service.answers.verdicts import recall_verdict
from datamill.service.models import FleetExperiment, TrialCount
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.experiments.again.asked import read_chosen, read_comparison, read_numbers
from datamill.service.states import ENDED_EXPERIMENTS, TrialPurpose, TrialState

_CONTEXT_LINES = 2
#: Lines of a difference that a page shows; of larger files comparing would take long.
_MOST_LINES = 400
_MOST_TEXT = 200_000


@dataclass(frozen=True, slots=True)
class ExperimentVersion:
    """An experiment as one of several: its verdict where it has one, packages by name, machines."""

    experiment: FleetExperiment
    verdict: str
    due: bool
    packages: dict[str, str]
    machines: tuple[str, ...]
    trials: int


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs from the first: lines of the file as a unified difference, packages, machines."""

    version: ExperimentVersion
    lines: tuple[tuple[str, str], ...]
    shortened: bool
    packages: tuple[tuple[str, str, str], ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]


@require_GET
@member_page
def compare_experiments(request: HttpRequest) -> HttpResponse:
    """Up to eight experiments that the user may see, the first of which is what others are compared with."""
    return show_side_by_side(request, build_page(request.GET, find_user(request)))


def show_side_by_side(request: HttpRequest, context: dict[str, object]) -> HttpResponse:
    """Show experiments side by side, or what is wrong with those that were named."""
    status = 400 if "problem" in context else 200
    return show_page(request, "experiments/compare.html", context, section="experiments", status=status)


def build_page(sent: QueryDict, user: User) -> dict[str, object]:
    """Return what the page of experiments side by side shows: versions, differences, the form."""
    context: dict[str, object] = {"asked": " ".join(sent.getlist("id")[:MOST_COMPARED])[:200]}
    try:
        numbers = read_numbers(sent)
        if not numbers:
            return context
        experiments = find_compared(user, numbers)
    except InputError as problem:
        return context | {"problem": problem}
    shown = [_read_version(experiment) for experiment in experiments]
    context |= {
        "versions": shown,
        "differences": [_compare(shown[0], other) for other in shown[1:]],
        "query": sent.urlencode(),
        "chosen": read_chosen(sent),
        "threshold": sent.get("threshold", "").strip()[:20] or "1%",
    }
    try:
        context["ground"] = find_common_ground(experiments)
        context["question"] = read_comparison(sent, len(experiments))
    except InputError as problem:
        context["refusal"] = problem
    return context


def _read_version(experiment: FleetExperiment) -> ExperimentVersion:
    head = msgspec.json.decode(bytes(experiment.head), type=BundleHead)
    files = (*head.packages, *head.loads)
    packages = {item.name: item.sha256 for item in files} | {item.name: item.sha256 for item in head.factors}
    counts = TrialCount.objects.filter(
        experiment=experiment, purpose=TrialPurpose.DESIGN, state=TrialState.COUNTED, trials__gt=0
    )
    by_machine = dict(counts.values_list("worker__name", "trials"))
    ended = experiment.state in ENDED_EXPERIMENTS
    kept = recall_verdict(experiment) if ended else None
    return ExperimentVersion(
        experiment,
        "" if kept is None else kept.headline,
        ended and kept is None and bool(by_machine),
        packages,
        tuple(sorted(by_machine)),
        sum(by_machine.values()),
    )


def _compare(first: ExperimentVersion, other: ExperimentVersion) -> Difference:
    lines = _diff(first.experiment.text, other.experiment.text)
    names = dict.fromkeys((*first.packages, *other.packages))
    packages = tuple(
        (name, first.packages.get(name, ""), other.packages.get(name, ""))
        for name in names
        if first.packages.get(name) != other.packages.get(name)
    )
    return Difference(
        other,
        lines[:_MOST_LINES],
        len(lines) > _MOST_LINES,
        packages,
        tuple(name for name in first.machines if name not in other.machines),
        tuple(name for name in other.machines if name not in first.machines),
    )


def _diff(before: str, after: str) -> tuple[tuple[str, str], ...]:
    """Lines with what each is: `+`, `-`, a blank, or `@` where others are left out."""
    first, second = (text[:_MOST_TEXT].splitlines() for text in (before, after))
    found = difflib.unified_diff(first, second, n=_CONTEXT_LINES, lineterm="")
    return tuple((line[0], line[1:]) for line in list(found)[2:] if line)
