"""The API as a whole: its parts, and what becomes of an error."""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponse
from msgspec.structs import asdict
from ninja.errors import AuthenticationError, HttpError, ValidationError

from datamill import __version__
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import speak_command_line
from datamill.experiment.quantities import format_duration
from datamill.protocol.api.problems import Problem
from datamill.service.accounts import DeniedError, NotFoundError
from datamill.service.answers.answering import EarlyLookError
from datamill.service.api import accounting, experiments, stream
from datamill.service.api.answers import analyses, comparisons, predictions, publications
from datamill.service.api.credentials import EITHER, TooManyGuessesError
from datamill.service.api.documented import DocumentedApi
from datamill.service.api.fleet import factors, packages, queueing, tables, workers
from datamill.service.api.members import keys, notices, room, users
from datamill.service.bounded_work.turns import BusyError
from datamill.service.bundles.logs import BundleError
from datamill.service.files.store import AwayError
from datamill.service.keyed_requests.claims import KeyInUseError, ReusedKeyError
from datamill.service.publishing.publishing import DamagedError, WithdrawnError
from datamill.service.watching.places import FullError

_log = logging.getLogger("datamill.service")
#: When somebody for whom there was no place may ask again.
_PLACE_RETRY_S = 30

api = DocumentedApi(
    title="datamill",
    version=__version__,
    description="Experiments on a fleet of machines. Errors are `message`, `where`, `remedy`.",
    auth=EITHER,
    urls_namespace="api",
    docs_url=None,
)
api.add_router("/experiments", experiments.router)
api.add_router("/experiments", stream.router)
api.add_router("/workers", workers.router)
api.add_router("/factors", factors.router)
api.add_router("/packages", packages.router)
api.add_router("", accounting.router)
api.add_router("", keys.router)
api.add_router("", notices.router)
api.add_router("", room.router)
api.add_router("", users.router)
api.add_router("", analyses.router)
api.add_router("", comparisons.router)
api.add_router("", predictions.router)
api.add_router("", publications.router)
api.add_router("", queueing.router)
api.add_router("", tables.router)


def _refuse(
    request: HttpRequest, status: int, message: str, where: str = "", remedy: str = ""
) -> HttpResponse:
    return api.create_response(request, asdict(Problem(message, where, remedy)), status=status)


@api.exception_handler(InputError)
def refuse_input(request: HttpRequest, problem: InputError) -> HttpResponse:
    """Answer 404, 403, 409, 410, 422, 429, 503 or 400 with what is wrong, where, and what to do."""
    statuses = {
        NotFoundError: 404,
        DeniedError: 403,
        BusyError: 429,
        WithdrawnError: 410,
        DamagedError: 503,
        AwayError: 503,
        KeyInUseError: 409,
        EarlyLookError: 409,
        ReusedKeyError: 422,
    }
    status = next((status for kind, status in statuses.items() if isinstance(problem, kind)), 400)
    told = problem.told(speak_command_line)
    answer = _refuse(request, status, told.message, told.where, told.remedy)
    if isinstance(problem, AwayError | BusyError | KeyInUseError):
        answer["Retry-After"] = str(problem.RETRY_AFTER_S)
    return answer


@api.exception_handler(ValidationError)
def refuse_body(request: HttpRequest, problem: ValidationError) -> HttpResponse:
    """Answer 422 with the first field that is wrong."""
    first = problem.errors[0]
    kind, *parts = (str(part) for part in first["loc"])
    # Behind "body" stands what the function calls it.
    where = ".".join(parts[1:] if kind == "body" else parts) or kind
    return _refuse(request, 422, first["msg"], where, "What a request holds is at /api/openapi.json.")


@api.exception_handler(AuthenticationError)
def refuse_stranger(request: HttpRequest, problem: AuthenticationError) -> HttpResponse:  # noqa: ARG001
    """Answer 401."""
    answer = _refuse(
        request,
        401,
        "the coordinator does not know this key" if "Authorization" in request.headers else "there is no key",
        remedy="Send Authorization: Bearer KEY with a key that has not been revoked.",
    )
    answer["WWW-Authenticate"] = "Bearer"
    return answer


@api.exception_handler(TooManyGuessesError)
def refuse_guess(request: HttpRequest, problem: TooManyGuessesError) -> HttpResponse:
    """Answer 429 and when to come again."""
    answer = _refuse(
        request,
        429,
        "too many unknown keys or tokens came from your address",
        remedy=f"One that is good is taken at once. Try others in {format_duration(problem.wait_s)}.",
    )
    answer["Retry-After"] = str(int(problem.wait_s) + 1)
    return answer


@api.exception_handler(FullError)
def refuse_another(request: HttpRequest, problem: FullError) -> HttpResponse:
    """Answer 429: there is no place for another live view or bundle."""
    answer = _refuse(request, 429, str(problem), remedy="End one, or ask again later.")
    answer["Retry-After"] = str(_PLACE_RETRY_S)
    return answer


@api.exception_handler(HttpError)
def refuse_request(request: HttpRequest, problem: HttpError) -> HttpResponse:
    """Answer what the framework found wrong, such as a body that is no JSON."""
    return _refuse(request, problem.status_code, str(problem))


@api.exception_handler(BundleError)
def answer_unsound(request: HttpRequest, problem: BundleError) -> HttpResponse:
    """Answer 500 with what is amiss: a bundle that would be wrong is not sent."""
    _log.error("unsound bundle: %s", problem)
    return _refuse(
        request,
        500,
        f"the coordinator cannot vouch for this bundle, and does not send it: {problem}",
        remedy="Tell the people who run the coordinator: its log has the same sentence.",
    )
