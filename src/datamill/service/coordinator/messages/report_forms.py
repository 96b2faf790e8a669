"""Reports as they come, with records and inventories left in their bytes: what is kept is what was sent."""

from __future__ import annotations

import msgspec

from datamill.protocol.fleet import READ_REPORT_VERSIONS, ArtifactFile, Policy, RefusalReason, Session

#: Bytes of the largest report that is looked at: the broker lets none pass that is larger.
MOST_REPORT_BYTES = 8 << 20
#: Attempts that a worker can name: it makes one at a time.
MOST_NAMED = 64


class HelloForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="hello"):
    """See `messages.Hello`."""

    inventory: msgspec.Raw
    policy: Policy
    attempts: tuple[str, ...]
    session: Session | None = None

    def list_keys(self) -> tuple[str, ...]:
        """Return the attempts that it names."""
        return self.attempts[:MOST_NAMED]


class GoodbyeForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="goodbye"):
    """See `messages.Goodbye`."""

    session: Session

    def list_keys(self) -> tuple[str, ...]:
        """Return the attempts that it names: none."""
        return ()


class _OfAttempt(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    attempt: str

    def list_keys(self) -> tuple[str, ...]:
        """Return the attempt that it names."""
        return (self.attempt,)


class TakenForm(_OfAttempt, frozen=True, tag="taken"):
    """See `messages.Taken`."""


class RecordForm(_OfAttempt, frozen=True, tag="record"):
    """See `messages.RecordReport`."""

    record: msgspec.Raw
    artifacts: tuple[ArtifactFile, ...]
    rebooted: bool
    taken_boot_id: str


class RefusedForm(_OfAttempt, frozen=True, tag="refused"):
    """See `messages.Refused`."""

    reason: RefusalReason
    message: str


class GaveUpForm(_OfAttempt, frozen=True, tag="gave_up"):
    """See `messages.GaveUp`."""

    message: str


class OutputForm(_OfAttempt, frozen=True, tag="output"):
    """See `messages.Output`."""

    phase: str
    number: int
    text: str


class ReportForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """See `messages.WorkerReport`."""

    schema: int
    worker_id: str
    boot_id: str
    clock_unix_ns: int
    content: HelloForm | GoodbyeForm | TakenForm | RecordForm | RefusedForm | GaveUpForm | OutputForm


class _AnyContent(msgspec.Struct, frozen=True):
    kind: str = ""
    attempt: str = ""


class _AnyReport(msgspec.Struct, frozen=True):
    content: _AnyContent = _AnyContent()


_REPORT = msgspec.json.Decoder(ReportForm)
_ANY = msgspec.json.Decoder(_AnyReport)


def decode_report(payload: bytes) -> tuple[ReportForm | None, str]:
    """Return a report, or None and why it cannot be read."""
    if len(payload) > MOST_REPORT_BYTES:
        return None, f"the report has {len(payload)} bytes, more than {MOST_REPORT_BYTES}"
    try:
        form = _REPORT.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return None, f"the report cannot be read: {error}"
    if form.schema not in READ_REPORT_VERSIONS:
        return None, f"the report has schema {form.schema}, which this coordinator does not read"
    if not 0 <= form.clock_unix_ns < 1 << 63:
        return None, "the report's clock is impossible"
    return form, ""


def find_attempt_key(payload: bytes) -> str:
    """Return the attempt that a report names whose rest cannot be read; empty when even that cannot."""
    try:
        content = _ANY.decode(payload[:MOST_REPORT_BYTES]).content
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    return content.attempt if content.kind not in ("taken", "output") else ""
