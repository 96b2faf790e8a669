"""Files that attempts produced: named in reports, uploaded before them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from datamill.protocol.fleet import ArtifactFile
from datamill.service.coordinator.state.rows import insert_rows, select_rows
from datamill.service.models import Artifact
from datamill.service.states import TrialPurpose

#: Name of the artifact that a build is.
BUILD_FILE = "build.tar.gz"
#: Files of one attempt: the output of its phases, and its archive.
MOST_ARTIFACTS = 256
#: What file systems keep, less what an archive or a download may put around it.
_MOST_NAME_BYTES = 200


_HELD = """
SELECT h.holder, f.sha256, f.size_bytes FROM datamill_storedfile f
JOIN datamill_fileholder h ON h.file_id = f.sha256 WHERE f.sha256 IN {list}
"""


def _is_file_name(name: str) -> bool:
    """Tell whether a file of one folder can have this name, on any machine that a bundle may come to."""
    return (
        name not in ("", ".", "..")
        and len(name.encode()) <= _MOST_NAME_BYTES
        and name.isprintable()
        and not {"/", "\\"}.intersection(name)
    )


@dataclass(frozen=True, slots=True)
class ArtifactBook:
    """Artifacts of a batch of reports, beside the files in the store."""

    _sizes: dict[tuple[str, str], int] = field(default_factory=dict)
    _rows: dict[tuple[int, str], tuple[object, ...]] = field(default_factory=dict)

    def load(self, digests: Iterable[str]) -> None:
        """Look up who brought the files that are in the store."""
        wanted = sorted({digest for digest in digests if "\x00" not in digest})
        self._sizes.update(((holder, sha256), size) for holder, sha256, size in select_rows(_HELD, wanted))

    def find_fault(
        self, worker_id: str, purpose: str, outcome: str, artifacts: Sequence[ArtifactFile]
    ) -> str:
        """Return why the artifacts of a report cannot be kept; empty when they can.

        A worker names only files that it brought itself: with the digest of another's file it would hand that
        file to whoever may see its experiment.
        """
        names = [artifact.name for artifact in artifacts]
        if len(names) > MOST_ARTIFACTS or len(set(names)) != len(names):
            return "its artifacts are too many, or two have the same name"
        for artifact in artifacts:
            if not _is_file_name(artifact.name):
                return "an artifact has a name that no file of its folder can have"
            if self._sizes.get((worker_id, artifact.sha256)) != artifact.bytes:
                return f"it did not bring its artifact {artifact.name}, or that has another size"
        if purpose == TrialPurpose.BUILD and outcome == "completed" and BUILD_FILE not in names:
            return f"it is of a build and brings no {BUILD_FILE}"
        return ""

    def add(self, attempt_id: int, artifacts: Sequence[ArtifactFile]) -> None:
        """Note the artifacts of an attempt."""
        for artifact in artifacts:
            self._rows[attempt_id, artifact.name] = (attempt_id, artifact.name, artifact.sha256)

    def write(self) -> None:
        """Write them down."""
        if self._rows:
            insert_rows(Artifact, ("attempt_id", "name", "file_id"), self._rows.values())
