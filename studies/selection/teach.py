"""Learn from the histories beside this file what every project begins with.

    python studies/selection/teach.py

Writes `other_projects.json` into the source, anew after a history was added or a feature changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from datamill.conduct.selection.collecting.settings_file import open_project
from datamill.conduct.selection.deciding import other_projects
from datamill.conduct.selection.deciding.train_model import read_collection
from datamill.selection.history.collection import build_cases, list_closest_pairs
from datamill.selection.history.settings import TruthSetting
from datamill.selection.history.truth import COUNT_THRESHOLD
from datamill.selection.predictors.case import Case, keep_labelled

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class ReadProject:
    """A project with its cases, each version against its closest ancestor: as it counts changes, and by the
    threshold of counted instructions, from which on all projects have sizes.
    """

    name: str
    cases: list[Case]
    sized: list[Case]


def read_project(store: Path) -> ReadProject:
    """Read a project from its store."""
    project = open_project(HERE, None, store)
    collection = read_collection(project)
    pairs, truth = list_closest_pairs(collection), project.settings.truth
    least = TruthSetting("instructions", truth.response, COUNT_THRESHOLD)
    own, sized = (keep_labelled(build_cases(collection, pairs, rule).cases) for rule in (truth, least))
    return ReadProject(project.settings.name, own, sized)


def main() -> None:
    """Write the file."""
    projects = [read_project(file.parent) for file in sorted(HERE.glob("*/selection.toml"))]
    taught = other_projects.learn_others(
        {item.name: item.cases for item in projects}, {item.name: item.sized for item in projects}
    )
    path = Path(other_projects.__file__).with_name(other_projects.FILE)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(taught), indent=1) + b"\n")
    for item in projects:
        changes, sizes = (sum(bool(case.changed) for case in cases) for cases in (item.cases, item.sized))
        print(
            f"{item.name}: {len(item.cases)} cases, {changes} changes; {sizes} from {COUNT_THRESHOLD:.1%} on"
        )


if __name__ == "__main__":
    main()
