"""The registry of factors: listed with levels by machine, registered, forbidden and allowed again."""

from __future__ import annotations

import time
from typing import Annotated

from django.http import HttpRequest
from ninja import Body, Path, Router

from datamill.experiment.messages.suggestions import suggest_name
from datamill.protocol.api.fleet.factors import FactorBan, FactorRegistration, FleetFactor, FleetFactorDetail
from datamill.protocol.api.problems import Problem
from datamill.service.accounts import NotFoundError, check_admin, find_user
from datamill.service.api.schemas import Name, RequestBody, describe_record
from datamill.service.coordinator.joining.fleet_factors import describe_fleet_factor, list_fleet_factors
from datamill.service.coordinator.registry.registered import list_known_names
from datamill.service.coordinator.registry.rules import allow_factor, forbid_factor
from datamill.service.files.registration import register_archive
from datamill.service.serving.storage.writer import run_as_writer

router = Router(tags=["factors"])
_PROBLEM = describe_record(Problem)
_LINE = describe_record(FleetFactor)
_DETAIL = describe_record(FleetFactorDetail)
FactorName = Annotated[Name, Path()]


@router.get("", response=describe_record(list[FleetFactor]))
def list_all(request: HttpRequest) -> list[FleetFactor]:  # noqa: ARG001
    """List all factors: those of datamill, then those that users registered, with levels by machines."""
    return list_fleet_factors()


@router.post("", response={200: _DETAIL, 400: _PROBLEM})
def register(
    request: HttpRequest, body: Annotated[FactorRegistration, RequestBody(), Body()]
) -> FleetFactorDetail:
    """Register the factor in an archive that was uploaded; registering it again does nothing."""
    registered = register_archive(body.sha256, find_user(request), time.time())
    return describe_fleet_factor(registered.name)


@router.get("/{name}", response={200: _DETAIL, 404: _PROBLEM})
def show(request: HttpRequest, name: FactorName) -> FleetFactorDetail:  # noqa: ARG001
    """Tell all about a factor: what each machine has of it, and whether its owner allows it."""
    _check_exists(name)
    return describe_fleet_factor(name)


@router.post("/{name}/forbid", response={200: _DETAIL, 403: _PROBLEM, 404: _PROBLEM})
def forbid(
    request: HttpRequest, name: FactorName, body: Annotated[FactorBan, RequestBody(), Body()]
) -> FleetFactorDetail:
    """Forbid a factor on the whole fleet, in what is submitted from now on: administrators only."""
    check_admin(request.user)
    _check_exists(name)
    run_as_writer(forbid_factor, name, body.reason, find_user(request), time.time())
    return describe_fleet_factor(name)


@router.post("/{name}/allow", response={200: _DETAIL, 400: _PROBLEM, 403: _PROBLEM, 404: _PROBLEM})
def allow(request: HttpRequest, name: FactorName) -> FleetFactorDetail:
    """Allow a factor again: administrators only."""
    check_admin(request.user)
    _check_exists(name)
    run_as_writer(allow_factor, name, find_user(request), time.time())
    return describe_fleet_factor(name)


def _check_exists(name: str) -> None:
    """Refuse the name of no factor as an address that is not there.

    Raises:
        NotFoundError: with the nearest name.
    """
    known = list_known_names()
    if name not in known:
        raise NotFoundError(f'there is no factor "{name}"', remedy=suggest_name(name, known))
