"""A predictor learnt from a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from datamill.conduct.selection.collecting.settings_file import Project
from datamill.conduct.selection.deciding.other_projects import read_other_sizes, read_others
from datamill.conduct.selection.deciding.user_features import read_user_features
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import command
from datamill.selection.history.collection import (
    Collection,
    Pairing,
    build_cases,
    list_closest_pairs,
)
from datamill.selection.history.settings import RULES, TruthSetting
from datamill.selection.history.truth import find_threshold
from datamill.selection.prediction.direction import learn_direction
from datamill.selection.prediction.magnitude import learn_magnitude
from datamill.selection.prediction.trained_model import TrainedModel
from datamill.selection.predictors.perphecy import fit_perphecy
from datamill.selection.predictors.registry import choose_fit, find_predictor

MODEL_FILE = "model.json"


@dataclass(frozen=True, slots=True)
class Training:
    """A model with what it was learnt from."""

    model: TrainedModel
    pairing: Pairing
    versions: int


def read_collection(project: Project) -> Collection:
    """Return what a project's store holds.

    Raises:
        InputError: nothing was collected.
    """
    store = project.store
    versions = {item.commit: item for item in store.versions}

    def read_features(old: str, new: str) -> Mapping[str, float]:
        return read_user_features(project, versions[old], versions[new])

    found = Collection(
        settings=project.settings,
        versions=store.versions,
        read_table=store.read_table,
        profiles={name: store.read_profiles(name) for name in store.programs},
        observations=store.read_observations(),
        counts=store.read_counts(),
        read_user_features=read_features,
    )
    if not found.built:
        raise InputError(
            "has no version that was built",
            where=str(store.folder),
            remedy="Correct the build in the settings, then: "
            + command("selection collect", retry_failed=True),
        )
    return found


def warn_of_no_truth(collection: Collection, truth: TruthSetting, purpose: str) -> str:
    """Say that no case is known to have changed or not, so that there is nothing to `purpose`."""
    measured = "profiled" if truth.rule == "instructions" else "measured"
    told = f"no pair of different programs was {measured}: there is nothing to {purpose}"
    if truth.rule != "instructions" and any(item.instructions for item in collection.counts):
        told += '; instructions were counted, and are what counts with rule = "instructions" in the settings'
    return told


def choose_truth(settings: TruthSetting, rule: str | None) -> TruthSetting:
    """Return what counts as a change: as the settings say, or by another rule with its own threshold."""
    if rule is None or rule == settings.rule:
        return settings
    assert rule in RULES
    return TruthSetting(rule, settings.response)


def train_model(
    project: Project,
    predictor: str,
    rule: str | None = None,
    miss_cost: float = 19.0,
    hit_rate: float | None = None,
) -> Training:
    """Learn from each version against its closest ancestor, and write the model into the store.

    Raises:
        InputError: the store holds no pair of versions with a profile.
    """
    collection = read_collection(project)
    truth = choose_truth(project.settings.truth, rule)
    pairing = build_cases(collection, list_closest_pairs(collection), truth)
    labelled = [case for case in pairing.cases if case.changed is not None]
    warnings = []
    if not labelled:
        warnings.append(warn_of_no_truth(collection, truth, "learn from"))
    warnings += collection.warn_of_spread(truth)
    others = read_others(project.settings.name)
    fit = choose_fit(find_predictor(predictor), miss_cost, hit_rate, others)
    model = fit(labelled)
    trained = TrainedModel(
        predictor=predictor,
        model=model,  # type: ignore[arg-type]
        perphecy=fit_perphecy(labelled),
        direction=learn_direction(labelled),
        truth=truth,
        cases=len(labelled),
        changes=sum(bool(case.changed) for case in labelled),
        magnitude=learn_magnitude(
            labelled, find_threshold(truth), read_other_sizes(project.settings.name, truth)
        ),
        warnings=tuple(dict.fromkeys((*warnings, *model.warnings))),
    )
    project.store.write_json(MODEL_FILE, trained)
    return Training(trained, pairing, len(collection.built))
