"""The experiment file of what a fleet builds or measures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

#: Where packages lie beside the file.
PACKAGES = "packages"
#: The factor whose level is a benchmark, and the variable that tells `run.sh`.
BENCHMARK_FACTOR, BENCHMARK_VARIABLE = "benchmark", "SELECTION_BENCHMARK"


def write_experiment(
    folder: Path,
    name: str,
    question: str,
    packages: Sequence[str],
    *,
    machine: str | None,
    fleet: Mapping[str, object],
    limits: Mapping[str, object],
    repetitions: int = 1,
    benchmarks: Sequence[str] = (),
) -> None:
    """Write `experiment.toml` for packages that lie in the folder's `packages`.

    Args:
        folder: of the experiment.
        name: of the experiment.
        question: what it asks, for people who see it on the fleet.
        packages: names, which are those of their folders.
        machine: the one that it is for; None leaves the choice to the coordinator.
        fleet: keys of `[fleet]`, beside that nothing is rebooted.
        limits: keys of `[limits]`.
        repetitions: executions of each benchmark of each package.
        benchmarks: levels of the factor `benchmark`; if empty, the experiment lacks that factor.
    """
    sections: list[tuple[str, Mapping[str, object]]] = [
        (
            "[experiment]",
            {"name": name, "question": question, "replicates": repetitions, "build": "shared"},
        )
    ]
    sections += [("[[package]]", {"name": item, "path": f"{PACKAGES}/{item}"}) for item in packages]
    if benchmarks:
        factor = {"env": BENCHMARK_VARIABLE, "levels": list(benchmarks)}
        sections.append((f"[factors.{BENCHMARK_FACTOR}]", factor))
    if machine is not None:
        sections.append(("[constraints]", {"workers": [machine]}))
    sections += [("[fleet]", {"reboot": "never", **fleet}), ("[limits]", limits)]
    text = "\n".join(_spell_section(head, keys) for head, keys in sections)
    (folder / "experiment.toml").write_text(text, encoding="utf-8")


def _spell_section(head: str, keys: Mapping[str, object]) -> str:
    return "".join(f"{line}\n" for line in (head, *(f"{key} = {_spell(keys[key])}" for key in keys)))


def _spell(value: object) -> str:
    # What JSON writes of texts, numbers, lists of them and true or false is TOML as well.
    return json.dumps(value, ensure_ascii=False)
