"""Learn from the histories beside this file what every project begins with.

    python studies/selection/teach.py

Writes `other_projects.json` into the source, anew after a history was added or a feature changed.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from datamill.conduct.selection.collecting.settings_file import open_project
from datamill.conduct.selection.deciding import other_projects
from datamill.conduct.selection.deciding.train_model import read_collection
from datamill.selection.history.collection import build_cases, list_closest_pairs
from datamill.selection.predictors.case import Case, keep_labelled

HERE = Path(__file__).parent


def read_cases(store: Path) -> tuple[str, list[Case]]:
    """Return the name of a project and its cases, each version against its closest ancestor."""
    project = open_project(HERE, None, store)
    collection = read_collection(project)
    pairing = build_cases(collection, list_closest_pairs(collection), project.settings.truth)
    return project.settings.name, keep_labelled(pairing.cases)


def main() -> None:
    """Write the file."""
    found = dict(read_cases(file.parent) for file in sorted(HERE.glob("*/selection.toml")))
    taught = other_projects.learn_others(found)
    path = Path(other_projects.__file__).with_name(other_projects.FILE)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(taught), indent=1) + b"\n")
    for name, cases in found.items():
        print(f"{name}: {len(cases)} cases, {sum(bool(case.changed) for case in cases)} changes")


if __name__ == "__main__":
    main()
