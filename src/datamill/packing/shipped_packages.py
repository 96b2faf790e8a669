"""The packages that come with datamill: what they measure, and whether they can run here."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import datamill
from datamill.experiment.errors import InputError
from datamill.experiment.messages.suggestions import suggest_name

#: `packages/` of the checkout, or its copy in an installed wheel.
SHIPPED_FOLDER = Path(datamill.__file__).parent / "shipped"
DESCRIPTION_FILE = "package.toml"

Kind = Literal["benchmark", "load", "adapter"]


@dataclass(frozen=True, slots=True)
class ShippedResponse:
    """A metric of a package, or a formula over some: its unit, and which direction is better.

    Without a direction it tells about the trial and answers no question; without a formula it is the
    metric of that name. `repeated` says that an execution takes as many measurements of it as the experiment
    asks for.
    """

    name: str
    unit: str
    direction: str
    formula: str
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class SourceTarball:
    """Upstream's tarball of a Debian source package, and where its files go in the package.

    `marks` are files that it must have; `leave_out` are files and folders that are not unpacked.
    """

    debian: str
    folder: str
    marks: tuple[str, ...]
    leave_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShippedPackage:
    """A package that comes with datamill.

    `folder` is where its scripts are, `env` what a variant adds to its variables. `corpus` is where
    the mixed corpus goes, empty when none is needed; `configure` says that `setup.sh configure` is
    called once when the sources are in place; `missing` is what only the user can bring.
    """

    name: str
    kind: Kind
    summary: str
    question: str
    licence: str
    programs: tuple[str, ...]
    responses: tuple[ShippedResponse, ...]
    sources: tuple[SourceTarball, ...]
    corpus: str
    configure: bool
    missing: str
    folder: Path
    env: tuple[tuple[str, str], ...] = ()

    def list_fetched(self) -> tuple[str, ...]:
        """Debian source packages whose tarballs are needed before it can run."""
        return tuple(source.debian for source in self.sources) + (("snappy",) if self.corpus else ())

    def list_missing_programs(self) -> tuple[str, ...]:
        """Programs that it needs and that are not on this machine."""
        return tuple(program for program in self.programs if shutil.which(program) is None)


def list_shipped_packages(folder: Path = SHIPPED_FOLDER) -> tuple[ShippedPackage, ...]:
    """Read all packages that come with datamill and their variants, benchmarks first, then by name.

    Raises:
        InputError: when they are not where they should be.
    """
    found: list[ShippedPackage] = []
    for path in folder.glob(f"*/{DESCRIPTION_FILE}"):
        found.extend(_read_package(path))
    if not found:
        raise InputError(
            "the packages that come with datamill are not there",
            where=str(folder),
            remedy="Install datamill again, or use its checkout.",
        )
    kinds = ("benchmark", "adapter", "load")
    return tuple(sorted(found, key=lambda package: (kinds.index(package.kind), package.name)))


def find_shipped_package(name: str) -> ShippedPackage:
    """Return the package or variant of that name.

    Raises:
        InputError: when there is none, with the nearest name.
    """
    packages = {package.name: package for package in list_shipped_packages()}
    if name not in packages:
        raise InputError(
            f'no package "{name}" comes with datamill',
            remedy=f"{suggest_name(name, packages)} datamill packages describes them.",
        )
    return packages[name]


def _read_package(path: Path) -> list[ShippedPackage]:
    """One package and its variants."""
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    package = ShippedPackage(
        name=path.parent.name,
        kind=table["kind"],
        summary=_read_summary(path.parent / "README.md"),
        question=table.get("question", ""),
        licence=table["licence"],
        programs=tuple(table["programs"]),
        responses=tuple(
            ShippedResponse(
                name,
                told["unit"],
                told.get("direction", ""),
                told.get("formula", ""),
                told.get("repeated", False),
            )
            for name, told in table.get("responses", {}).items()
        ),
        sources=tuple(
            SourceTarball(
                source["debian"], source["folder"], tuple(source["marks"]), tuple(source.get("leave_out", ()))
            )
            for source in table.get("sources", ())
        ),
        corpus=table.get("corpus", ""),
        configure=table.get("configure", False),
        missing=table.get("missing", ""),
        folder=path.parent,
    )
    return [package] + [
        replace(package, name=name, summary=variant["summary"], env=tuple(variant["env"].items()))
        for name, variant in table.get("variants", {}).items()
    ]


def _read_summary(readme: Path) -> str:
    """What the first line of a README says after the package's name."""
    first_line = readme.read_text(encoding="utf-8").split("\n", 1)[0]
    return first_line.partition(": ")[2].removesuffix(".")
