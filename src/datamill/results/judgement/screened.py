"""What a screening that came first found, kept in the bundle of the experiment that followed it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from datamill.experiment.errors import InputError

#: The file of a bundle that holds it.
SCREENED_FILE = "screening.json"


class ScreenedLevels(msgspec.Struct, frozen=True):
    """What became of a factor that was screened, and why: it varies over both levels, or not."""

    factor: str
    levels: tuple[str, str]
    survives: bool
    becomes: str
    reason: str


class ScreenedFirst(msgspec.Struct, frozen=True):
    """A screening that came before an experiment: where it is, what it found, and what it may have missed.

    `bundle` names its folder, or on a fleet its experiment. `smallest_percent` is the effect, in percent of
    the mean, that the widest interval of any factor could still hide; None where that is not known.
    `missed` and `warnings` are sentences.
    """

    bundle: str
    response: str
    trials: int
    points: int
    replicates: int
    machines: int
    alpha: float
    confidence: float
    method: str
    factors: tuple[ScreenedLevels, ...]
    smallest_percent: float | None
    missed: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def survivors(self) -> tuple[str, ...]:
        """The factors that were found to move the response."""
        return tuple(item.factor for item in self.factors if item.survives)


def read_screened(folder: Path) -> ScreenedFirst | None:
    """Return what a bundle keeps of the screening before it; None where none came first.

    Raises:
        InputError: when the file is not what datamill wrote.
    """
    file = folder / SCREENED_FILE
    if not file.is_file():
        return None
    try:
        return msgspec.json.decode(file.read_bytes(), type=ScreenedFirst)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            f"this is not what datamill wrote of a screening: {error}",
            where=str(file),
            remedy="Copy the bundle again from where it is whole.",
        ) from None


def encode_screened(screened: ScreenedFirst) -> bytes:
    """Return the content of the file, for people to read as well."""
    return msgspec.json.format(msgspec.json.encode(screened)) + b"\n"
