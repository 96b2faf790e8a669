"""All factors of the fleet, with the levels that its machines have and what their owners allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.factors.offers import explain_unavailable
from datamill.protocol.api.fleet.factors import FleetFactor, FleetFactorDetail, MachineLevels
from datamill.protocol.fleet import Policy
from datamill.protocol.offers import FactorOffer
from datamill.service.coordinator.joining.hardware import read_inventory, read_policy
from datamill.service.coordinator.registry.registered import list_registered
from datamill.service.coordinator.registry.rules import check_factor_name, list_forbidden
from datamill.service.models import FleetWorker, RegisteredFactor
from datamill.service.states import WorkerState

_UNASKED = "its levels are asked for in its trials"
_NO_HOST_FACTORS = "its owner lets no factor that users bring change the host (privileged)"


def list_fleet_factors() -> list[FleetFactor]:
    """Return the factors of datamill in the order of the catalogue, then those that are registered."""
    counts = _count_levels(_list_machines())
    forbidden = list_forbidden()
    built_in = [
        FleetFactor(
            name=factor.name,
            stage=factor.stage,
            summary=factor.summary,
            sha256=None,
            owner=None,
            registered_unix_s=None,
            forbidden=forbidden.get(factor.name),
            levels=_order_levels(factor.levels, counts[factor.name]),
        )
        for factor in FACTORS.values()
    ]
    return built_in + [_describe_registered(item, forbidden) for item in list_registered()]


def describe_fleet_factor(name: str) -> FleetFactorDetail:
    """Return a factor with what each machine has of it.

    Raises:
        InputError: when there is no such factor, with the nearest name.
    """
    check_factor_name(name)
    (line,) = (item for item in list_fleet_factors() if item.name == name)
    versions = RegisteredFactor.objects.filter(name=name).order_by("-registered_unix_s")
    return FleetFactorDetail(
        name=line.name,
        stage=line.stage,
        summary=line.summary,
        sha256=line.sha256,
        owner=line.owner,
        registered_unix_s=line.registered_unix_s,
        forbidden=line.forbidden,
        levels=line.levels,
        machines=tuple(_describe_machine(line, worker) for worker in _list_machines()),
        versions=tuple(versions.values_list("sha256", flat=True)),
    )


def _list_machines() -> list[FleetWorker]:
    workers = FleetWorker.objects.select_related("owner").exclude(state=WorkerState.REMOVED)
    return list(workers.order_by("name"))


def _count_levels(workers: Iterable[FleetWorker]) -> dict[str, Counter[str]]:
    """How many machines have each level of each factor, and are allowed to by their owners."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in FACTORS}
    for worker in workers:
        barred = read_policy(worker).forbidden_factors
        for offer in read_inventory(worker).factors:
            if offer.name in counts and offer.name not in barred:
                counts[offer.name].update(offer.levels)
    return counts


def _order_levels(known: tuple[str, ...], counts: Counter[str]) -> dict[str, int]:
    """In the order of the catalogue, then by name."""
    others = sorted(set(counts) - set(known))
    return {level: counts[level] for level in (*known, *others) if counts[level]}


def _describe_registered(item: RegisteredFactor, forbidden: dict[str, str]) -> FleetFactor:
    return FleetFactor(
        name=item.name,
        stage=item.scope,
        summary=item.summary,
        sha256=item.sha256,
        owner=item.owner.username,
        registered_unix_s=item.registered_unix_s,
        forbidden=forbidden.get(item.name),
        levels={},
    )


def _describe_machine(factor: FleetFactor, worker: FleetWorker) -> MachineLevels:
    policy = read_policy(worker)
    allowed = factor.name not in policy.forbidden_factors
    if factor.sha256 is not None:
        reason = _find_objection(factor, policy)
        return MachineLevels(
            worker.name, worker.owner.username, None, reason or _UNASKED, allowed and not reason
        )
    offers = {offer.name: offer for offer in read_inventory(worker).factors}
    nothing = FactorOffer(factor.name, FACTORS[factor.name].stage, (), reason="its worker does not know it")
    offer = offers.get(factor.name, nothing)
    reason = explain_unavailable(offer) if allowed else "its owner forbids it"
    return MachineLevels(worker.name, worker.owner.username, offer.levels, reason, allowed)


def _find_objection(factor: FleetFactor, policy: Policy) -> str:
    """Why an owner does not allow a registered factor, empty when it is allowed."""
    if factor.name in policy.forbidden_factors:
        return "its owner forbids it"
    if policy.packages and factor.sha256 not in policy.packages:
        return "its owner allows listed files alone, and this is not one of them"
    if factor.stage == "host" and not policy.privileged:
        return _NO_HOST_FACTORS
    return ""
