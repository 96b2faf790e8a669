"""An experiment run again by one click, and whether that gave the same result."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from datamill.experiment.errors import InputError
from datamill.protocol.api.plans import SubmissionPlan
from datamill.service.accounts import find_experiment, find_user
from datamill.service.bounded_work.turns import BusyError, GoneError
from datamill.service.bundles.logs import BundleError
from datamill.service.files.store import AwayError
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.sent_forms import find_form_name, lead_to_named, sending_form
from datamill.service.publishing.reproductions import (
    ShownRerun,
    find_own_rerun,
    judge_rerun,
    list_judged,
)
from datamill.service.publishing.running_again import make_submission, run_experiment_again
from datamill.service.submissions.planned_apart import LOOK
from datamill.service.submissions.planning import plan_within
from datamill.service.submissions.preview import preview_submission
from datamill.service.watching.places import FullError

#: Shares by which a ratio may differ and still be the same result.
MARGINS = {"0.01": "1%", "0.02": "2%", "0.05": "5%", "0.1": "10%", "0.2": "20%"}
_USUAL_MARGIN = "0.05"


@require_http_methods(["GET", "POST"])
@member_page
def run_again(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """What a re-run on today's machines would be; sent, it is submitted."""
    user = find_user(request)
    original = find_experiment(user, experiment_id)
    if (named := lead_to_named(request)) is not None:
        return named
    margin = request.POST.get("margin", _USUAL_MARGIN)
    context: dict[str, object] = {"experiment": original, "margins": MARGINS, "margin": margin}
    context["form_name"] = find_form_name(request)
    try:
        if request.method == "POST":
            if margin not in MARGINS:
                raise InputError(
                    "this margin is not among the choices", remedy=f"One of: {', '.join(MARGINS)}."
                )
            with sending_form(request) as form:
                if not form.became:
                    number, _ = run_experiment_again(
                        original, user, float(margin), lambda made, _: form.keep("experiment", made)
                    )
            text = f"Submitted: it runs #{original.pk} again."
            if form.became:
                text = "This form was sent before, and this is what it became. Nothing was changed."
            messages.success(request, text, extra_tags="good")
            return redirect(form.became or reverse("experiment", args=[number]))
        plan: SubmissionPlan = plan_within(LOOK, preview_submission, make_submission(original), user)
        if plan.missing_files:
            raise InputError("files of the experiment are no longer stored here", remedy="Upload them.")
        context |= {"plan": plan, "trials_a_machine": plan.trials // max(1, len(plan.workers))}
    except (BusyError, GoneError):
        raise
    except InputError as problem:
        context["problem"] = problem
    return show_page(
        request,
        "experiments/experiment_rerun.html",
        context,
        section="experiments",
        status=400 if request.method == "POST" else 200,
    )


@require_GET
@member_page
def show_reruns(request: HttpRequest, experiment_id: int) -> HttpResponse:
    """The verdicts on an experiment's re-runs, and on itself where it is one; a due one is inferred now."""
    user = find_user(request)
    experiment = find_experiment(user, experiment_id)
    of, by = find_own_rerun(experiment.pk, user), list_judged(experiment.pk, user)
    problem = ""
    due = next((item for item in (*(() if of is None else (of,)), *by) if item.due), None)
    if due is not None:
        problem = _judge(request, due)
        of, by = find_own_rerun(experiment.pk, user), list_judged(experiment.pk, user)
    more = not problem and any(item.due for item in (*(() if of is None else (of,)), *by))
    context = {"experiment": experiment, "of": of, "by": by, "problem": problem, "more": more}
    part = request.headers.get("HX-Request") == "true"
    template = "experiments/parts/reruns.html" if part else "experiments/experiment_reruns.html"
    return show_page(request, template, context, section="experiments")


def _judge(request: HttpRequest, due: ShownRerun) -> str:
    """Judge a re-run; return what stood in the way."""
    try:
        judge_rerun(due.rerun, find_user(request))
    except (AwayError, BusyError, GoneError):
        raise
    except InputError as problem:
        return f"Re-run #{due.rerun.pk} cannot be judged: {problem.message}."
    except FullError as problem:
        return str(problem)
    except BundleError:
        return "The coordinator's records of these experiments do not fit each other."
    return ""
