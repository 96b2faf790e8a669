"""How a project is built, recognised from the files at its top."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from datamill.selection.history.settings import PLACEHOLDER


@dataclass(frozen=True, slots=True)
class RecognisedBuild:
    """A build system, and the command that builds a version in a clean checkout."""

    system: str
    command: str

    @property
    def tool(self) -> str:
        """The program without which the command cannot begin; empty where the checkout brings it."""
        word = self.command.split()[0]
        return "" if "/" in word else word


#: By the file that gives a system away; the first that is there is taken. `make` comes last: many projects
#: have a Makefile beside a build system of which it is a part.
_SYSTEMS: tuple[tuple[tuple[str, ...], RecognisedBuild], ...] = (
    (("Cargo.toml",), RecognisedBuild("cargo", "cargo build --release --offline || cargo build --release")),
    (
        ("meson.build",),
        RecognisedBuild("meson", "meson setup build --buildtype=release && meson compile -C build"),
    ),
    (
        ("CMakeLists.txt",),
        RecognisedBuild(
            "cmake", "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build --parallel"
        ),
    ),
    (("configure",), RecognisedBuild("autotools", "./configure && make -j2")),
    (("autogen.sh",), RecognisedBuild("autotools", "./autogen.sh && ./configure && make -j2")),
    (
        ("configure.ac", "configure.in"),
        RecognisedBuild("autotools", "autoreconf -i && ./configure && make -j2"),
    ),
    (("GNUmakefile", "makefile", "Makefile"), RecognisedBuild("make", "make -j2")),
)


def recognise_builds(
    names: Collection[str], unlikely: Collection[RecognisedBuild] = ()
) -> tuple[RecognisedBuild, ...]:
    """Return the builds that the files at the top of a checkout speak of, the likeliest first.

    `unlikely` are those that come after all others.
    """
    found = (build for files, build in _SYSTEMS if any(name in names for name in files))
    return tuple(sorted(found, key=lambda build: build in unlikely))


def write_settings(name: str, build: RecognisedBuild, binaries: Collection[str], others: str = "") -> str:
    """Return the text of a settings file to begin with."""
    listed = ", ".join(f'"{path}"' for path in binaries) or f'"{PLACEHOLDER}"'
    first = next(iter(binaries), PLACEHOLDER)
    also = f"# Also recognised: {others}.\n" if others else ""
    return f'''# Which benchmarks must run for a commit? Read by datamill selection.
name = "{name}"
# Programs and shared libraries that the build makes: these are looked at.
binaries = [{listed}]
# What benchmarks need of a version besides these, as paths in the checkout.
keep = []
# Executions of each benchmark of each program, at least five.
repetitions = 5
timeout = "1min"

{also}# Commits that need another command get their own table, with since = "COMMIT".
[[build]]
command = "{build.command}"

# Commands are executed where the programs of a version are. {{here}} is the folder of this file.
[[benchmark]]
name = "version"
command = "./{first} --version"

# What counts as a change: relevant (detected, and at least the threshold), mann-whitney (p below 0.05),
# instructions (counted, not timed: for busy machines).
[truth]
rule = "relevant"
response = "wall"
'''
