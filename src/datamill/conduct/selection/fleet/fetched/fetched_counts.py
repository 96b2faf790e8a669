"""What callgrind counted on a machine of a fleet, put into the store as what is counted here."""

from __future__ import annotations

from pathlib import Path

import msgspec

from datamill.conduct.selection.collecting.commands import HERE, hide_folders
from datamill.conduct.selection.collecting.profile_program import SLOWER, read_counted
from datamill.conduct.selection.fleet.fetched.fetched_archives import unpacked
from datamill.conduct.selection.profile_command import add_up_counts, quote_last
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.experiment.quantities import format_duration
from datamill.selection.history.records import COUNTED_WAY, Program, WorkCount
from datamill.selection.history.settings import SelectionSettings
from datamill.selection.profiles.profile import Profile

#: How `timeout` ends where a command took too long, and where that had to be killed.
_TOO_LONG = ("124", "137")


def keep_counts(
    archive: Path,
    program: Program,
    machine: str,
    settings: SelectionSettings,
    store: SelectionStore,
    scratch: Path,
) -> None:
    """Keep the profiles of a program's benchmarks, and what they executed in all, or why nothing was counted.

    What is kept of benchmarks that are not in the archive stays.

    Args:
        archive: what its `profile.sh` sent.
        program: of the store.
        machine: the one that counted.
        settings: which benchmarks are known.
        store: keeps them.
        scratch: a folder that is made and removed.

    Raises:
        InputError: the archive cannot be read.
    """
    known = {item.name: item for item in settings.benchmark}
    profiles: list[Profile] = []
    told: list[str] = []
    counts = {(item.program, item.benchmark): item for item in store.read_counts()}
    with unpacked(archive, scratch) as folder:
        place = Path(_read(folder / "place"))
        paths = {path: place / path for path in program.tables}
        for part in sorted(item for item in folder.iterdir() if item.is_dir()):
            name = _read(part / "benchmark")
            if name not in known:
                continue
            told.append(name)
            problem = _explain(part, settings)
            if problem:
                why = hide_folders(
                    f"{known[name].command}: {problem}", {place: "", place.parent / "here": HERE}
                )
                count = WorkCount(program.name, name, None, why, way=COUNTED_WAY)
            else:
                seen = {item: str(item) for item in paths.values()}
                counted = add_up_counts(sorted(part.glob("counts.*")), seen)
                profile, count = read_counted(program, name, counted, paths, store)
                profiles += [profile] if profile is not None else []
            counts[program.name, name] = msgspec.structs.replace(count, machine=machine)
    store.write_profiles(program.name, profiles, only=told)
    store.write_counts(counts.values())


def _explain(part: Path, settings: SelectionSettings) -> str:
    """Return why a benchmark was not counted; empty where it was."""
    status = _read(part / "status")
    if status == "0":
        return ""
    if status in _TOO_LONG:
        return f"takes longer than {format_duration(settings.timeout_s * SLOWER)} while it is counted"
    return f"ends with status {status} under valgrind{quote_last(_read(part / 'said').encode())}"


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        raise InputError("is not in what the profile sent", where=file.name) from None
