"""Numbers that a user's own commands print for two versions (thesis 2019, 1.10)."""

from __future__ import annotations

import json
import math
import re
import subprocess

import msgspec

from datamill.conduct.selection.collecting.settings_file import Project
from datamill.experiment.command_lines import fill, list_words
from datamill.experiment.errors import InputError
from datamill.selection.history.records import Version
from datamill.selection.history.settings import FeatureSetting

_LINE = re.compile(r"^\s*([A-Za-z_][\w.-]*)\s*[=:\s]\s*([-+0-9.eE]+)\s*$")
_CACHE = "user_features.json"
_TIMEOUT_S = 120.0


def read_user_features(project: Project, old: Version, new: Version) -> dict[str, float]:
    """Return the numbers of all commands for two versions as `user.COMMAND.NAME`; kept once computed.

    In a command `{old}` and `{new}` are the commits, `{old_programs}` and `{new_programs}` folders with their
    binaries, `{repository}` the clone and `{here}` the folder of the settings.

    Raises:
        InputError: a command fails, takes longer than two minutes, or prints no numbers.
    """
    if not project.settings.feature:
        return {}
    path = project.store.folder / _CACHE
    kept = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, float]]) if path.exists() else {}
    told: dict[str, float] = {}
    fresh = False
    for setting in project.settings.feature:
        key = f"{setting.name} {setting.command} {old.commit} {new.commit}"
        if key not in kept:
            kept[key], fresh = _ask(project, setting, old, new), True
        told |= {f"user.{setting.name}.{name}": value for name, value in kept[key].items()}
    if fresh:
        project.store.write_json(_CACHE, kept)
    return told


def _ask(project: Project, setting: FeatureSetting, old: Version, new: Version) -> dict[str, float]:
    store = project.store
    command = fill(
        setting.command,
        {
            "old": old.commit,
            "new": new.commit,
            "old_programs": str(store.place_programs(old.program)),
            "new_programs": str(store.place_programs(new.program)),
            "repository": str(project.history.top) if project.history is not None else "",
            "here": str(project.here),
        },
    )
    where = f"the feature {setting.name}"
    try:
        done = subprocess.run(
            list_words(command, shell=True),
            cwd=project.here,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError("takes longer than two minutes", where=where) from error
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise InputError(f"ends with status {done.returncode}: {''.join(last)}", where=where)
    numbers = read_numbers(text)
    if not numbers:
        raise InputError(
            "prints no numbers", where=where, remedy='Print lines such as "width 3", or a JSON object.'
        )
    return numbers


def read_numbers(text: str) -> dict[str, float]:
    """Return numbers by name from a JSON object, or from lines of a name and a number; others are skipped."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    pairs: list[tuple[str, object]]
    if isinstance(found, dict):
        pairs = [(str(name), value) for name, value in found.items()]
    else:
        pairs = [(match[1], match[2]) for line in text.splitlines() if (match := _LINE.match(line))]
    numbers = {}
    for name, value in pairs:
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            continue
        if math.isfinite(number):
            numbers[name] = number
    return numbers
