"""A version as a package: its sources, how it is built, and what of it comes home."""

from __future__ import annotations

import shlex
from pathlib import Path

from datamill.conduct.selection.collecting.build_version import BUILD_TIME, check_out
from datamill.conduct.selection.collecting.commands import HERE, HERE_VARIABLE, spell_here
from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.conduct.selection.fleet.submitted.program_packages import copy_inputs
from datamill.packing.command_packages import write_script
from datamill.selection.history.settings import BuildSetting, SelectionSettings

#: In the root of a private world a folder of ours is in nobody's way.
_PLACE = "selection"
_SETUP = """\
#!/bin/sh
{here}=$PWD/{place}/here
cd {place}/source || exit 125
GIT_CEILING_DIRECTORIES=${{PWD%/*}}
SOURCE_DATE_EPOCH={time}
export {here} GIT_CEILING_DIRECTORIES SOURCE_DATE_EPOCH
exec /bin/sh -c {build}
"""
#: Links are kept as such, with what they lead to: libraries are known by names that are links.
_GATHER = """\
#!/bin/sh
# Nothing of a build is measured: what it made is gathered for collect.sh.
cd {place}/source || exit 125
top=$(pwd -P)
{{
    for path in {paths}; do
        [ -e "$path" ] || continue
        find "./$path"
        whole=$(readlink -f "$path")
        case $whole in "$top"/*) find ".${{whole#"$top"}}" ;; esac
    done
    find . \\( -type f -o -type l \\) \\( -name '*.so' -o -name '*.so.*' \\)
}} | LC_ALL=C sort -u >../list
exec tar --no-recursion -czf ../made.tar.gz -T ../list
"""
_COLLECT = f"""\
#!/bin/sh
echo {_PLACE}/made.tar.gz
"""


def write_version_package(
    folder: Path,
    history: GitHistory,
    commit: str,
    build: BuildSetting | None,
    settings: SelectionSettings,
    scratch: Path,
    here: Path,
) -> None:
    """Write the package of a commit, whose `setup.sh` builds it and whose archive has what was made.

    Args:
        folder: of the package, which does not exist yet.
        history: the repository.
        commit: full hash.
        build: the command that builds it; None where nothing is built.
        settings: say which files of the checkout are brought back, and which submodules are not needed.
        scratch: a folder of ours.
        here: the folder of the settings, of which builds may need inputs.

    Raises:
        InputError: a submodule is not in the user's files, or an input is not there.
    """
    place = folder / _PLACE
    place.mkdir(parents=True)
    check_out(history, commit, place / "source", scratch, settings.without)
    if build is not None:
        if HERE in build.command:
            copy_inputs(settings, here, place / "here")
        command = shlex.quote(spell_here(build.command))
        text = _SETUP.format(place=_PLACE, here=HERE_VARIABLE, time=BUILD_TIME, build=command)
        write_script(folder / "setup.sh", text)
    paths = dict.fromkeys((*settings.list_binaries(build), *settings.keep))
    listed = " ".join(map(shlex.quote, paths))
    write_script(folder / "run.sh", _GATHER.format(place=_PLACE, paths=listed))
    write_script(folder / "collect.sh", _COLLECT)
