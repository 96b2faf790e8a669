"""Machines join and leave: what database, broker and certificate have to do with it, in one place."""

from __future__ import annotations

import time

from django.contrib.auth.models import User

from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_fixed
from datamill.protocol.fleet import Credential, CredentialRequest, Enrolment, EnrolmentRequest
from datamill.service.accounts import AccountEventKind, DeniedError, record_account_event
from datamill.service.broker.access import (
    get_broker_access,
    issue_worker_credential,
    read_fingerprint,
)
from datamill.service.broker.credentials import is_user_key
from datamill.service.broker.keys import is_signed
from datamill.service.coordinator.joining.credentials import note_credential
from datamill.service.coordinator.joining.enrolment import enrol_worker, make_token
from datamill.service.coordinator.presence.members import remove_worker
from datamill.service.models import FleetWorker
from datamill.service.serving.storage.writer import run_as_writer
from datamill.service.states import WorkerState


def make_enrolment_token(owner: User, now_s: float, life_s: float) -> str:
    """Return a token that lets one machine join, once: SECRET.FINGERPRINT of the coordinator's authority."""
    fingerprint = read_fingerprint()
    token = run_as_writer(make_token, owner, now_s, life_s)
    detail = f"lets one machine join within {format_fixed(life_s, 0)} s"
    record_account_event(AccountEventKind.TOKEN_MADE, owner, detail, now_s=now_s)
    return f"{token}.{fingerprint}"


def enrol_machine(request: EnrolmentRequest, now_s: float) -> Enrolment:
    """Let a machine join, and return what it needs to know.

    Raises:
        InputError: when the token is not good any more, the machine joined already, or its worker speaks
            another version.
    """
    access = get_broker_access()
    # Before there is a worker: its token works once.
    if not is_user_key(request.public_key):
        raise InputError(
            "this is not the public key of a worker", where="public_key", remedy="It is an NKEY, U...."
        )
    enrolled = run_as_writer(enrol_worker, request, now_s)
    made_s = run_as_writer(note_credential, enrolled.worker_id, now_s)
    return Enrolment(
        worker_id=enrolled.worker_id,
        name=enrolled.name,
        nats_urls=access.worker_urls,
        nats_jwt=issue_worker_credential(enrolled.worker_id, request.public_key, made_s),
        api_key=enrolled.api_key,
        ca_pem=access.authority_pem,
        clock_unix_ns=time.time_ns(),
    )


def renew_credential(worker: FleetWorker, request: CredentialRequest, now_s: float) -> Credential:
    """Make a worker a new credential for the broker, for the public key with which it joined.

    Args:
        worker: whose key for files came with the request.
        request: signed with the worker's NKEY; a thief who repeats one gets what only that key can use.
        now_s: the time.

    Raises:
        DeniedError: when the worker was removed or drained for what it sent, or the signature is another's.
    """
    if worker.state == WorkerState.REMOVED:
        raise DeniedError("this worker was removed from the fleet")
    void_s = worker.credential_void_unix_s
    if void_s is not None and worker.state == WorkerState.DRAINED:
        raise DeniedError(
            f"this worker is drained: {worker.state_reason}",
            remedy="Look at the machine, then: datamill workers resume NAME",
        )
    signed = f"datamill-credential {request.worker_id} {request.nonce}".encode()
    if request.worker_id != worker.worker_id or not is_signed(worker.public_key, signed, request.signature):
        raise DeniedError("this is not signed with the key with which the worker joined", where="signature")
    made_s = run_as_writer(note_credential, worker.worker_id, now_s)
    return Credential(
        worker_id=worker.worker_id,
        nats_jwt=issue_worker_credential(worker.worker_id, worker.public_key, made_s),
        clock_unix_ns=time.time_ns(),
    )


def dismiss_machine(worker: FleetWorker, user: User, now_s: float) -> None:
    """Remove a worker for good, and have the broker refuse it from now on.

    Raises:
        InputError: when it is removed already.
    """
    run_as_writer(remove_worker, worker.name, user, now_s)
    # The database says who it was.
    get_broker_access().on_removal()
