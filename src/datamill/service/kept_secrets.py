"""How secrets are kept: in the database as digests, on disk in files that only their owner reads."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def hash_secret(secret: str) -> str:
    """Return what the database keeps of a key or token: its SHA-256.

    They are 192 random bits or more, which nobody guesses from a digest however fast it is computed.
    """
    return hashlib.sha256(secret.encode()).hexdigest()


def write_secret(file: Path, content: bytes) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    part.replace(file)
