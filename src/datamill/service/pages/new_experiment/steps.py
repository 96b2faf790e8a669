"""A new experiment in three steps, as ICPE 2013 section 3.2 has them, and as a text."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import resolve, reverse
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_GET, require_POST

from datamill.experiment.errors import InputError
from datamill.experiment.quantities import format_size
from datamill.protocol.api.plans import SubmissionPlan
from datamill.protocol.api.submissions import SubmissionOptions
from datamill.service.accounts import find_experiment, find_user
from datamill.service.bounded_work.places import taking_turn
from datamill.service.bounded_work.turns import BusyError, GoneError
from datamill.service.models import FleetExperiment
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.labels import speak_form
from datamill.service.pages.new_experiment.draft_files import DraftFiles, find_fork, read_draft
from datamill.service.pages.new_experiment.fleet_view import (
    HARDWARE_WORDS,
    group_software,
    list_fleet,
    list_hardware,
    list_software,
    mark_included,
    split_eligible,
)
from datamill.service.pages.new_experiment.form import (
    SHARE_PREFIX,
    STEP_FIELDS,
    ExperimentForm,
    format_experiment,
    read_constraints,
    read_form,
)
from datamill.service.pages.new_experiment.starting_points import TEMPLATES
from datamill.service.pages.new_experiment.stored_packages import list_stored, store_upload
from datamill.service.pages.response_words import RESPONSE_WORDS
from datamill.service.pages.sent_forms import (
    FIELD,
    SentForm,
    find_form_name,
    lead_to_named,
    name_form,
    sending_form,
)
from datamill.service.submissions.planned_apart import LOOK
from datamill.service.submissions.planning import (
    plan_submission,
    plan_within,
)
from datamill.service.submissions.preview import find_changes, preview_submission
from datamill.service.submissions.submission import Submission
from datamill.service.submissions.submitting import submit_experiment

T = TypeVar("T")
_FILE_NAME = "experiment.toml"
_STEPS = (
    ("packages", "new-packages", "1. Packages"),
    ("machines", "new-machines", "2. Machines"),
    ("space", "new-space", "3. Space"),
    ("file", "new-file", "4. Check and submit"),
)
#: Forms and files of packages add little to the archives themselves.
_FORM_BYTES = 1 << 20


@require_GET
@member_page
def choose_packages(request: HttpRequest) -> HttpResponse:
    """First step: what is measured."""
    if (named := lead_to_named(request)) is not None:
        return named
    form = read_form(request.GET)
    stored = list_stored(find_user(request))
    chosen = {item.sha256: item for item in form.packages}
    rows = [
        (
            chosen[item.sha256].text if item.sha256 in chosen else f"{item.name or 'package'}@{item.sha256}",
            item,
        )
        for item in stored
    ]
    foreign = [item for item in form.packages if item.sha256 not in {row.sha256 for row in stored}]
    context = _describe_step(request, "packages", form)
    context |= {"stored": rows, "chosen": chosen, "foreign": foreign}
    context["template"] = TEMPLATES.get(request.GET.get("template", ""))
    return show_page(request, "new_experiment/new_packages.html", context, section="new")


@csrf_exempt
@require_POST
def upload_packages(request: HttpRequest) -> HttpResponseBase:
    """Keep packages that a user sends, and go back to the first step with them chosen."""
    # The body is not touched before its size is known, which checking the token would do.
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdigit() or int(length) > settings.LARGEST_FILE_BYTES + _FORM_BYTES:
        return HttpResponse(
            f"More than {format_size(settings.LARGEST_FILE_BYTES)} at once are not taken: send packages one "
            "by one, or let setup.sh make what is large.",
            status=413,
            content_type="text/plain; charset=utf-8",
        )
    request.upload_handlers = [TemporaryFileUploadHandler(request)]
    return _store_packages(request)


@csrf_protect
@member_page
def _store_packages(request: HttpRequest) -> HttpResponse:
    carried = [(key, value) for key, values in request.POST.lists() for value in values if _is_carried(key)]
    uploads = request.FILES.getlist("file")
    if not uploads:
        messages.error(request, "No file was chosen.", extra_tags="bad")
    for upload in uploads:
        try:
            with taking_turn(find_user(request)):
                stored = store_upload(find_user(request), upload)
        except (BusyError, GoneError):
            raise
        except InputError as problem:
            told = problem.told(speak_form)
            text = f"{told.where}: {told.message}. {told.remedy}".strip()
            messages.error(request, text, extra_tags="bad")
            continue
        if stored.kind == "factor":
            messages.success(
                request,
                f'Stored the factor "{stored.name}": name it in a [[factor]] of the experiment file.',
                extra_tags="good",
            )
        else:
            messages.success(request, f'Stored the package "{stored.name}".', extra_tags="good")
            carried.append(("p", f"{stored.name}@{stored.sha256}"))
    return redirect(f"{reverse('new-packages')}?{urlencode(carried)}")


@require_GET
@member_page
def choose_machines(request: HttpRequest) -> HttpResponse:
    """Second step: which machines may take part."""
    form = read_form(request.GET)
    context = _describe_step(request, "machines", form) | _count_eligible(request, form)
    fleet = list_fleet(find_user(request))
    context["levels"] = {item.name: item.levels for item in list_hardware(fleet)}
    context["fleet"] = fleet
    return show_page(request, "new_experiment/new_machines.html", context, section="new")


@require_GET
@member_page
def preview_machines(request: HttpRequest) -> HttpResponse:
    """How many machines meet the constraints that are being typed."""
    context = _count_eligible(request, read_form(request.GET))
    return show_page(request, "new_experiment/parts/eligible.html", context)


@require_GET
@member_page
def choose_space(request: HttpRequest) -> HttpResponse:
    """Third step: which dimensions, how much of each, how often."""
    form = read_form(request.GET)
    with taking_turn(find_user(request)):
        context = _describe_step(request, "space", form) | _preview(request, form)
    eligible = _count_eligible(request, form)["eligible"] or list_fleet(find_user(request))
    software = mark_included(list_software(eligible), dict(form.shares))
    context["hardware"] = mark_included(list_hardware(eligible), dict(form.shares))
    context["groups"] = group_software(software)
    context["single"] = [item.title for item in software if not item.choice]
    context["responses"] = RESPONSE_WORDS
    return show_page(request, "new_experiment/new_space.html", context, section="new")


@require_GET
@member_page
def preview_space(request: HttpRequest) -> HttpResponse:
    """What the choices of the form would run, before anything is submitted."""
    with taking_turn(find_user(request)):
        context = _preview(request, read_form(request.GET))
    return show_page(request, "parts/plan.html", context)


@member_page
def edit_file(request: HttpRequest) -> HttpResponse:
    """The experiment file, of the three steps, of another experiment, or pasted: checked and submitted."""
    original = _find_original(request)
    if (named := lead_to_named(request)) is not None:
        return named
    with taking_turn(find_user(request), entering=request.method == "POST" and "submit" in request.POST):
        return _edit_file(request, original)


def _find_original(request: HttpRequest) -> FleetExperiment | None:
    """Return the experiment whose file is asked for to be forked; once there is a text, nobody asks for it.

    Raises:
        NotFoundError: there is none of that number that the user may see.
    """
    asked = request.GET.get("fork")
    if asked is None or request.method == "POST":
        return None
    return find_experiment(find_user(request), int(asked) if asked.isdecimal() and len(asked) < 20 else 0)


def _edit_file(request: HttpRequest, original: FleetExperiment | None) -> HttpResponse:
    context = _describe_step(request, "file", read_form(request.GET))
    if request.method == "POST":
        draft = read_draft(request.POST.get("text", ""), request.POST, find_user(request))
        if "submit" in request.POST:
            with sending_form(request) as form:
                if not form.became:
                    number, context["problem"] = _try_draft(
                        draft, lambda draft: _submit_stored(request, draft, form)
                    )
                elif _is_unchanged(draft, form.became):
                    text = "This form was submitted before, and became this. Fork it to run it again."
                    messages.info(request, text, extra_tags="info")
                    return redirect(form.became)
                else:
                    number = 0
                    context |= {"became": form.became, "form_name": name_form()}
            if number:
                return redirect("experiment", number)
    elif original is not None:
        text, files = find_fork(original)
        draft = read_draft(text, files, find_user(request))
    else:
        draft = _draft_from_form(request, read_form(request.GET))
    context = {"form_name": find_form_name(request)} | context | {"draft": draft, "fork_of": original}
    context |= {"hold": "hold" in request.POST} | _describe_draft(request, draft)
    if request.headers.get("HX-Request"):
        return show_page(request, "new_experiment/parts/draft.html", context)
    return show_page(request, "new_experiment/new_file.html", context, section="new")


def _is_unchanged(draft: DraftFiles, became: str) -> bool:
    """Whether a form still has the text and the files that it was submitted with."""
    made = FleetExperiment.objects.get(pk=resolve(became).kwargs["experiment_id"])
    text, files = find_fork(made)
    now = [(item.kind, item.name, item.sha256) for item in draft.needed]
    return (text, sorted((kind, file.name, file.sha256) for kind, file in files)) == (draft.text, sorted(now))


#: Also the name of the form that the steps lead to: whichever step one goes back to, it is the same form.
_CARRIED = (FIELD, *(field for fields in STEP_FIELDS.values() for field in fields))


def _is_carried(key: str) -> bool:
    """Tell whether a field goes along: those of steps, and the coverage of each dimension."""
    return key in _CARRIED or key.startswith(SHARE_PREFIX)


def _describe_step(request: HttpRequest, step: str, form: ExperimentForm) -> dict[str, Any]:
    """Return what every step shows, and what it carries along for the others."""
    own = STEP_FIELDS.get(step, ())
    carried = [
        (key, value)
        for key, values in request.GET.lists()
        for value in values
        if key not in own and _is_carried(key) and not (step == "space" and key.startswith(SHARE_PREFIX))
    ]
    return {"step": step, "steps": _STEPS, "form": form, "carried": carried}


def _count_eligible(request: HttpRequest, form: ExperimentForm) -> dict[str, Any]:
    fleet = list_fleet(find_user(request))
    try:
        constraints = read_constraints(form)
    except InputError as problem:
        return {"eligible": [], "others": [], "machines": len(fleet), "problem": problem}
    eligible, others = split_eligible(fleet, constraints)
    return {"eligible": eligible, "others": others, "machines": len(fleet)}


def _draft_from_form(request: HttpRequest, form: ExperimentForm) -> DraftFiles:
    if not form.name and not form.packages:
        return read_draft("", form, find_user(request))
    return read_draft(format_experiment(form, tuple(HARDWARE_WORDS)), form, find_user(request))


def _preview(request: HttpRequest, form: ExperimentForm) -> dict[str, Any]:
    if not form.packages:
        return {"problem": InputError("no package is chosen", remedy="Choose one in the first step.")}
    if not form.name:
        return {"problem": InputError("the experiment has no name", remedy="Give it one in the first step.")}
    try:
        draft = _draft_from_form(request, form)
    except InputError as problem:
        return {"problem": problem}
    return _describe_draft(request, draft)


def _describe_draft(request: HttpRequest, draft: DraftFiles) -> dict[str, Any]:
    if not draft.text.strip():
        return {}
    user = find_user(request)
    plan, problem = _try_draft(draft, lambda submission: _preview_stored(submission, user))
    if plan is None:
        return {"problem": problem}
    return {"plan": plan, "trials_a_machine": plan.trials // max(1, len(plan.workers))}


def _try_draft(draft: DraftFiles, attempt: Callable[[Submission], T]) -> tuple[T | None, InputError | None]:
    """Return what comes of a draft, or why it cannot be planned or run."""
    if draft.submission is None:
        return None, draft.problem
    try:
        return attempt(draft.submission), None
    except GoneError:
        raise
    except InputError as problem:
        return None, problem


def _submit_stored(request: HttpRequest, submission: Submission, form: SentForm) -> int:
    """Submit an experiment and return its number; 0 where its plan is no longer the one that was shown.

    Raises:
        InputError: when it cannot be planned, or its files are not here.
    """
    user = find_user(request)
    with plan_submission(submission, user) as planned:
        _check_stored(planned.missing)
        if changes := find_changes(request.POST.get("plan", ""), planned):
            text = f"Not submitted: {changes}. Look at it again, then submit it."
            messages.warning(request, text, extra_tags="warn")
            return 0
        held = replace(submission, options=SubmissionOptions(hold="hold" in request.POST))
        number = submit_experiment(
            held, planned, user, time.time(), enter_more=lambda number: form.keep("experiment", number)
        )
    messages.success(request, "Submitted.", extra_tags="good")
    return number


def _preview_stored(submission: Submission, user: User) -> SubmissionPlan:
    """Preview a submission.

    Raises:
        InputError: when it cannot be planned, or its files are not here.
    """
    preview = plan_within(LOOK, preview_submission, submission, user)
    _check_stored(preview.missing_files)
    return preview


def _check_stored(missing: Collection[str]) -> None:
    if missing:
        raise InputError("files of the experiment are not stored here", remedy="Upload them first.")
