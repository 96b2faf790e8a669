"""`datamill serve`: one command that runs web, API, broker and coordinator in one process tree."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import logging
import signal
import socket
import ssl
import time
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from django.db import close_old_connections, connection

from datamill import __version__
from datamill.experiment.errors import InputError
from datamill.service.bounded_work.calls import Calls, set_calls
from datamill.service.broker.access import BrokerAccess, set_broker_access
from datamill.service.broker.keys import Keys, load_keys, read_account_seed
from datamill.service.broker.link import BROKER_ERRORS, BrokerAddress, BrokerLink
from datamill.service.broker.server import BrokerServer, bind_port
from datamill.service.broker.server_config import MOST_CONNECTIONS, BrokerPlace, BrokerTls
from datamill.service.coordinator.experiments.experiments import drop_unfinished_entries
from datamill.service.coordinator.joining.credentials import list_void_credentials
from datamill.service.files.store import check_shelf
from datamill.service.front_door.visitors.addresses import name_origin
from datamill.service.front_door.visitors.bounds import DoorBounds, choose_bounds, raise_file_limit
from datamill.service.front_door.web_server import WebServer
from datamill.service.models import FleetWorker
from datamill.service.notices.ways import NoticeWays, set_notice_ways
from datamill.service.publishing.archives import move_old_archives
from datamill.service.publishing.making import drop_unfinished_archives
from datamill.service.serving.asgi import CoordinatorApplication, HealthFacts
from datamill.service.serving.coordinator_loop import CoordinatorLoop
from datamill.service.serving.first_use import make_first_user, migrate_database, write_client_settings
from datamill.service.serving.housekeeping import keep_house
from datamill.service.serving.options import ServeOptions
from datamill.service.serving.storage.data_folder import DataFolder
from datamill.service.serving.storage.database_lock import hold_database
from datamill.service.serving.storage.writer import Writer, run_as_writer, set_writer
from datamill.service.serving.tls import TlsFiles, find_authority_pem, make_tls_files, read_tls_files
from datamill.service.states import WorkerState
from datamill.service.submissions.stored_trials import drop_trials_files
from datamill.service.watching.feed import ENDING
from datamill.service.watching.reading import Readers, set_readers

log = logging.getLogger("datamill.serve")

_GRACE_S = 3
_EXTERNAL_BROKER_S = 8


@dataclass(frozen=True)
class Prepared:
    """Everything that was checked before anything was started."""

    options: ServeOptions
    folder: DataFolder
    socket: socket.socket
    keys: Keys
    tls: TlsFiles | None
    authority_pem: str | None
    place: BrokerPlace | None
    address: BrokerAddress
    password_file: Path | None
    url: str
    settings_written: bool
    bounds: DoorBounds


def prepare(options: ServeOptions, folder: DataFolder, database_name: str) -> Prepared:
    """Check and make whatever a coordinator needs; Django is set up.

    Raises:
        InputError: when something that was given cannot be used.
    """
    files = raise_file_limit()
    listening = _bind(options)
    migrate_database(database_name)
    check_shelf()
    (folder.path / "files").mkdir(exist_ok=True)
    drop_unfinished_archives()
    move_old_archives()
    tls = _prepare_tls(options, folder.path)
    authority_pem = find_authority_pem(tls) if tls else None
    with _check_database_lock():
        password_file = make_first_user(folder.path)
        url = _name_url(options, listening)
        written = write_client_settings(url, authority_pem)
    if options.nats_urls:
        assert options.nats_account_seed is not None
        keys = read_account_seed(options.nats_account_seed, options.nats_account)
        place = None
        address = BrokerAddress(options.nats_urls, keys, tls=_trust(options.nats_authority))
    else:
        keys = load_keys(folder.path / "keys")
        port = folder.choose_broker_port(options.nats_port, listening.getsockname()[1])
        broker_tls = BrokerTls(tls.certificate.absolute(), tls.key.absolute()) if tls else None
        most = min(MOST_CONNECTIONS, files // 2)
        place = BrokerPlace(folder.path / "nats", options.host, port, broker_tls, most)
        address = BrokerAddress(
            (place.own_url,),
            keys,
            tls=_trust(tls.authority, by_name=False) if tls else None,
            is_own=True,
        )
    bounds = choose_bounds(files, frozenset(map(name_origin, options.proxies)))
    return Prepared(
        options, folder, listening, keys, tls, authority_pem, place, address, password_file, url, written,
        bounds,
    )  # fmt: skip


async def serve(prepared: Prepared) -> int:
    """Run the coordinator until it is told to end; return the exit status.

    Raises:
        InputError: when the broker does not start or another coordinator took over.
    """
    loop = asyncio.get_running_loop()
    ending = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ending.set)
    server = BrokerServer(prepared.place, prepared.keys, list_revoked) if prepared.place else None
    working: CoordinatorLoop

    def nudge() -> None:
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(working.nudge)

    writer = Writer(nudge)
    link = BrokerLink(prepared.address, lambda: working.wake(), time.time)
    working = CoordinatorLoop(writer, link, server)
    worker_urls = (prepared.place.url_for_workers,) if prepared.place else prepared.options.nats_urls
    readers = Readers()
    set_writer(writer)
    set_readers(readers)
    calls = Calls()
    set_calls(calls)
    set_broker_access(BrokerAccess(prepared.keys, worker_urls, prepared.authority_pem, nudge))
    try:
        drop_trials_files(prepared.folder.path)
        await asyncio.to_thread(run_as_writer, drop_unfinished_entries, time.time())
        if server is not None:
            await server.start()
        else:
            await _check_external_broker(link, prepared)
        application = CoordinatorApplication(
            prepared.authority_pem, lambda: read_health(working, link, server), prepared.bounds
        )
        set_notice_ways(
            NoticeWays(prepared.url, prepared.options.mail_server, frozenset(prepared.options.webhook_hosts))
        )
        working.drop_abandoned_uploads = application.drop_abandoned_uploads
        web = WebServer(_configure_web(application, prepared), prepared.bounds)
        tasks = {
            asyncio.create_task(working.run(), name="coordinator"),
            asyncio.create_task(web.serve(sockets=[prepared.socket]), name="web"),
            asyncio.create_task(ending.wait(), name="ending"),
        }
        listening = asyncio.create_task(web.listening.wait())
        await asyncio.wait({listening, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        if listening.done():
            print(describe_service(prepared), flush=True)
        listening.cancel()
        calls.start()
        house = asyncio.create_task(keep_house(), name="house")
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        ENDING.set()
        web.should_exit = True
        house.cancel()
        failures = [task.exception() for task in done if task.get_name() != "ending"]
        for task in tasks - done:
            if task.get_name() != "web":
                task.cancel()
        await asyncio.wait(tasks, timeout=_GRACE_S + 2)
        for failure in failures:
            if failure is not None:
                raise failure
        return 0
    finally:
        ENDING.clear()
        set_broker_access(None)
        set_calls(None)
        set_writer(None)
        set_readers(None)
        readers.close()
        await asyncio.to_thread(writer.close)
        await link.close()
        if server is not None:
            await server.stop()


def read_health(working: CoordinatorLoop, link: BrokerLink, server: BrokerServer | None) -> HealthFacts:
    """Return how the parts of the coordinator are."""
    broker = "" if link.prepared else link.trouble or "not ready"
    if server is not None and server.pid is None:
        broker = "nats-server is not running"
    well = not (broker or working.database_trouble)
    return HealthFacts(
        status="ok" if well else "trouble",
        version=__version__,
        broker=broker,
        database=working.database_trouble,
        coordinator=working.defect,
        unread_reports=link.waiting,
        turns=working.turns,
    )


def list_revoked() -> dict[str, float]:
    """Return times by public keys of workers, whose credentials from before are void."""
    try:
        return list_void_credentials()
    finally:
        close_old_connections()


def describe_service(prepared: Prepared) -> str:
    """Return what whoever started the coordinator sees first."""
    options, place = prepared.options, prepared.place
    broker = place.url_for_workers.format(host=options.host) if place else ", ".join(options.nats_urls)
    lines = [
        f"datamill {__version__} serves a fleet at {prepared.url}",
        f"  data       {prepared.folder.path}",
        f"  database   {'PostgreSQL' if options.database.startswith('postgres') else 'SQLite'}",
        *([f"  files      {options.files}"] if options.files else []),
        f"  broker     {broker}",
    ]
    if prepared.password_file is not None:
        lines.append(f"  sign in    user admin, password in {prepared.password_file}")
    lines.append("")
    if prepared.settings_written:
        lines += [
            "To make a machine join (each token works once):",
            "  datamill worker token",
            f"  datamill worker join {prepared.url} --token TOKEN",
        ]
    else:
        lines += [
            "Commands here speak to another coordinator; make a key on the page of your account, then:",
            f"  datamill worker token --url {prepared.url} --key KEY",
            f"  datamill worker join {prepared.url} --token TOKEN",
        ]
    lines.append("Ctrl-C ends it; what is under way goes on when it is started again.")
    return "\n".join(lines)


def _bind(options: ServeOptions) -> socket.socket:
    try:
        return bind_port(options.host, options.port)
    except OSError as error:
        raise InputError(
            f"cannot listen on {options.host} port {options.port}: {error.strerror or error}",
            where="--listen",
            remedy="End what listens there, or give another address with --listen HOST:PORT.",
        ) from None


def _prepare_tls(options: ServeOptions, data: Path) -> TlsFiles | None:
    if options.tls_certificate is not None and options.tls_key is not None:
        return read_tls_files(options.tls_certificate, options.tls_key, options.tls_authority)
    if not options.with_tls:
        return None
    names = [*options.public_names, *([] if options.host in ("0.0.0.0", "::") else [options.host])]
    # As long as nobody joined, nobody knows the authority.
    is_unknown = not FleetWorker.objects.exclude(state=WorkerState.REMOVED).exists()
    connection.close()
    return make_tls_files(data / "tls", names, datetime.datetime.now(datetime.UTC), may_replace=is_unknown)


@contextlib.contextmanager
def _check_database_lock():  # type: ignore[no-untyped-def]
    """Hold the database while the first user is made; the writer takes it over."""
    hold_database(connection)
    try:
        yield
    finally:
        connection.close()


def _name_url(options: ServeOptions, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    host = options.host
    if options.public_names:
        host = options.public_names[0]
    elif host in ("0.0.0.0", "::"):
        host = socket.gethostname()
    return f"{'https' if options.with_tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def _trust(authority: Path | None, *, by_name: bool = True) -> ssl.SSLContext | None:
    """Return how the coordinator checks the broker; ours may have a certificate of other names."""
    context = ssl.create_default_context(cafile=str(authority) if authority else None)
    context.check_hostname = by_name
    # What workers trust may be an authority in the middle of a chain.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def _configure_web(application: CoordinatorApplication, prepared: Prepared) -> uvicorn.Config:
    tls, proxies = prepared.tls, prepared.options.proxies
    return uvicorn.Config(
        application,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        # What others say of where a request came from is believed of those who were named.
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_graceful_shutdown=_GRACE_S,
        timeout_keep_alive=30,
        ssl_certfile=str(tls.certificate) if tls else None,
        ssl_keyfile=str(tls.key) if tls else None,
    )


async def _check_external_broker(link: BrokerLink, prepared: Prepared) -> None:
    try:
        await asyncio.wait_for(link.connect(), _EXTERNAL_BROKER_S)
    except BROKER_ERRORS as error:
        raise InputError(
            f"cannot use the broker at {', '.join(prepared.options.nats_urls)}: {str(error) or link.trouble}",
            where="--nats",
            remedy="Check that it runs, is reachable, and knows the account of --nats-account-seed.",
        ) from None
