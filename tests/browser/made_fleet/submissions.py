"""Packages in the coordinator's store, and experiments that are submitted with them."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import time
from typing import Any


def pack_package(**scripts: str) -> bytes:
    """A package as a `.tar.gz`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in scripts.items():
            member = tarfile.TarInfo(f"{name}.sh")
            member.mode, content = 0o755, text.encode()
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def store(content: bytes, name: str, kind: str, owner: Any) -> str:
    """Put a file into the store; returns its SHA-256."""
    from datamill.service.files.disk import name_stored_file
    from datamill.service.files.store import record_stored_file

    sha256 = hashlib.sha256(content).hexdigest()
    path = name_stored_file(sha256)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    record_stored_file(sha256, kind, owner, len(content), name)
    return sha256


def submit(
    owner: Any,
    name: str,
    packages: dict[str, str],
    question: str,
    *,
    machines: int = 4,
    replicates: int = 5,
    debug: str = "never",
    public: bool = False,
) -> int:
    """Submit an experiment as a user does; returns its number."""
    from datamill.protocol.api.submissions import SubmittedFile
    from datamill.service.models import StoredFile
    from datamill.service.submissions.planning import plan_submission
    from datamill.service.submissions.submission import Submission
    from datamill.service.submissions.submitting import submit_experiment

    tables = "".join(
        f'[[package]]\nname = "{package}"\npath = "packages/{package}.tar.gz"\n' for package in packages
    )
    text = f"""[experiment]
name = "{name}"
question = {json.dumps(question)}
replicates = {replicates}
build = "shared"

{tables}
[coverage]
machine = {machines}

[factors]
optimization = ["-O0", "-O2"]
aslr = "100%"

[fleet]
reboot = "never"
debug = "{debug}"
public = {str(public).lower()}
"""
    files = tuple(
        SubmittedFile(
            package, "package", sha256, StoredFile.objects.get(pk=sha256).size_bytes, 3, package == "xz"
        )
        for package, sha256 in packages.items()
    )
    submission = Submission(text, "experiment.toml", files)
    with plan_submission(submission, owner) as planned:
        return submit_experiment(submission, planned, owner, time.time() - 3600)
