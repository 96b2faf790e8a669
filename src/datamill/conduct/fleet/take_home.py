"""An experiment of the fleet as a bundle on this machine, from the archive that the coordinator streams."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from datamill.conduct.fleet.coordinator_records import read_record
from datamill.experiment.errors import InputError
from datamill.protocol.api.bundles import BundleEnd
from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.opening import open_bundle
from datamill.results.judgement.judged_attempts import ATTEMPTS_FILE

_COMPLETE_FILE = "complete.json"
_AGAIN = "Type the command again; if it stays so, tell the people who run the coordinator."


class BytesSource(Protocol):
    """A file that is read once, forwards."""

    def read(self, size: int, /) -> bytes:
        """Return `size` bytes, fewer only at the end."""
        ...


@dataclass(frozen=True, slots=True)
class TakenHome:
    """A fleet's bundle on this machine, its records, and artifacts that the coordinator no longer had."""

    bundle: Bundle
    records: list[TrialRecord]
    left_out: tuple[str, ...]


def take_home(stream: BytesSource, folder: Path) -> TakenHome:
    """Unpack a bundle into a new folder, where it appears when it is whole and every trial counts once.

    Args:
        stream: the archive.
        folder: where the bundle will be; empty, or not there.

    Raises:
        InputError: when what came is not a sound bundle.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        end = unpack_bundle(stream, draft)
        records = check_bundle(draft, end)
        draft.chmod(0o755)
        if folder.exists():
            folder.rmdir()
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return TakenHome(open_bundle(folder), records, end.left_out)


def unpack_bundle(stream: BytesSource, folder: Path) -> BundleEnd:
    """Unpack a bundle's archive, plain files below the folder alone, and return what it says at its end.

    Raises:
        InputError: when it is cut off, or holds anything else.
    """
    files = 0
    try:
        with tarfile.open(fileobj=stream, mode="r|") as tar:  # type: ignore[call-overload]
            for member in tar:
                path = PurePosixPath(member.name)
                if not member.isreg() or path.is_absolute() or ".." in path.parts or not path.parts:
                    raise InputError(
                        f'the archive holds "{member.name}", which is not a plain file below the bundle',
                        remedy="Do not trust this coordinator.",
                    )
                content = tar.extractfile(member)
                assert content is not None
                if member.name == _COMPLETE_FILE:
                    end = read_record(content.read(), BundleEnd, _COMPLETE_FILE)
                    if end.files != files:
                        raise InputError(f"{files} of {end.files} files came", remedy=_AGAIN)
                    return end
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as handle:
                    shutil.copyfileobj(content, handle, 1 << 20)
                files += 1
    except (tarfile.TarError, EOFError) as error:
        raise InputError(f"the bundle was cut off: {error}", remedy=_AGAIN) from None
    raise InputError(f"the bundle was cut off after {files} files", remedy=_AGAIN)


def check_bundle(folder: Path, end: BundleEnd) -> list[TrialRecord]:
    """Make sure that a bundle is what the coordinator says: digests, and each counted trial exactly once.

    Raises:
        InputError: when it is not.
    """
    bundle = open_bundle(folder)
    head = bundle.head
    digests = {item.file: item.sha256 for item in (*head.packages, *head.loads)}
    digests |= {item.file: item.sha256 for item in head.factors}
    for file, digest in digests.items():
        if _digest(folder / file) != digest:
            raise InputError(f"{file} is not what was submitted", remedy=_AGAIN)
    attempts = folder / ATTEMPTS_FILE
    if not attempts.is_file() or _digest(attempts) != end.attempts_sha256:
        raise InputError(
            "the attempts that count here are not those that count for the coordinator",
            where=ATTEMPTS_FILE,
            remedy=_AGAIN,
        )
    (folder / "artifacts").mkdir(exist_ok=True)
    records = bundle.read_records()
    planned = {trial.trial_id for trial in bundle.design.trials}
    if len(planned) != len(bundle.design.trials):
        raise InputError("a trial is planned twice", where=str(folder / "design.json"), remedy=_AGAIN)
    return records


def _digest(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
