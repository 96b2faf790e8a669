"""What `datamill worker` found of this machine, as JSON."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import asdict

from datamill.cli.json_answer import spell_answer
from datamill.protocol.noise import NoiseFacts
from datamill.protocol.offers import FactorOffer
from datamill.protocol.restoration import Restoration
from datamill.protocol.trial import HostFacts
from datamill.results.judgement.noise import NoiseJudgement

NOTHING_AGAINST = "Nothing speaks against this host."


def spell_restoration(found: Restoration) -> str:
    """Return what was undone, and what was not."""
    if found.is_restored:
        answer = "The host is as it was before."
    elif found.given_up:
        answer = "The journal is empty; what was given up is still as it was."
    elif found.would_undo:
        answer = "The host is not as it was. Nothing was changed."
    else:
        answer = "The host may not be as it was."
    warnings = (*found.left, *found.damaged, *found.given_up)
    return spell_answer(answer, restoration=found, warnings=warnings)


def spell_inventory(host: HostFacts, offers: Iterable[FactorOffer]) -> str:
    """Return what this machine is, with the level of each of its settings."""
    settings = {offer.name: offer.current for offer in offers}
    return spell_answer(
        f"This machine is {host.cpu_model} ({host.arch}) with {host.cores} processors online.",
        machine={**asdict(host), "settings": settings},
    )


def spell_noise(facts: NoiseFacts, judgement: NoiseJudgement) -> str:
    """Return the figures of each processor, what was measured and what speaks against this host."""
    return spell_answer(
        "This host is noisy." if judgement.objections else NOTHING_AGAINST,
        scores=judgement.scores,
        measured=facts,
        warnings=judgement.objections,
    )
