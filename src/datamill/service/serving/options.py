"""What whoever runs a coordinator may choose."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import click

from datamill import __version__
from datamill.experiment.errors import InputError
from datamill.service.notices.mail import MailServer, parse_mail_server

DEFAULT_LISTEN = "127.0.0.1:8642"
_LOOPBACK = ("127.", "localhost", "::1")


@dataclass(frozen=True)
class ServeOptions:
    """How a coordinator runs; field by field the options of `datamill serve`."""

    data: Path
    host: str
    port: int
    public_names: tuple[str, ...] = ()
    tls: bool = False
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    tls_authority: Path | None = None
    database: str = ""
    files: str = ""
    nats_urls: tuple[str, ...] = ()
    nats_account_seed: Path | None = None
    nats_account: str = ""
    nats_replicas: int = 1
    nats_authority: Path | None = None
    nats_port: int = 0
    proxies: tuple[str, ...] = ()
    mail_server: MailServer | None = None
    webhook_hosts: tuple[str, ...] = ()
    backup: Path | None = None

    @property
    def on_loopback(self) -> bool:
        """Tell whether only this machine can reach the coordinator."""
        return self.host.startswith(_LOOPBACK)

    @property
    def with_tls(self) -> bool:
        """Tell whether coordinator and broker speak TLS."""
        return self.tls or self.tls_certificate is not None or not self.on_loopback


def default_data_folder() -> Path:
    """Return where a coordinator keeps its state unless told otherwise."""
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "datamill" / "coordinator"


def parse_options(arguments: list[str]) -> ServeOptions:
    """Return what the arguments of `datamill serve` say.

    Raises:
        InputError: when they contradict each other.
        SystemExit: after the help, the version, or what is wrong with an argument.
    """
    given = _read_arguments(arguments)
    host, port = _parse_listen(given.listen)
    if (given.tls_cert is None) != (given.tls_key is None):
        raise InputError("certificate and key belong together", where="--tls-cert", remedy="Give both.")
    if given.tls_ca is not None and given.tls_cert is None:
        raise InputError("it belongs to a certificate of yours", where="--tls-ca", remedy="Give --tls-cert.")
    if bool(given.nats) != (given.nats_account_seed is not None):
        raise InputError(
            "a broker of yours needs its address and the seed of the account there",
            where="--nats",
            remedy="Give --nats URL and --nats-account-seed FILE; leave both out, and serve starts a broker.",
        )
    if not given.nats and (given.nats_replicas != "1" or given.nats_account or given.nats_ca):
        raise InputError(
            "this is about a broker of yours", where="--nats-…", remedy="Name it with --nats URL."
        )
    return ServeOptions(
        data=given.data.expanduser(),
        host=host,
        port=port,
        public_names=tuple(given.public_name),
        tls=given.tls,
        tls_certificate=given.tls_cert,
        tls_key=given.tls_key,
        tls_authority=given.tls_ca,
        database=given.database,
        files=given.files,
        nats_urls=tuple(given.nats),
        nats_account_seed=given.nats_account_seed,
        nats_account=given.nats_account,
        nats_replicas=int(given.nats_replicas),
        nats_authority=given.nats_ca,
        nats_port=given.nats_port,
        proxies=tuple(_parse_proxy(text) for text in given.proxy),
        mail_server=_parse_mail(given.mail_server, given.mail_from),
        backup=given.backup,
        webhook_hosts=tuple(host.lower().rstrip(".") for host in given.webhook_host),
    )


def _parse_listen(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InputError(
            f'"{text}" is not an address to listen on',
            where="--listen",
            remedy=f"It is HOST:PORT, such as {DEFAULT_LISTEN}, or 0.0.0.0:8642 for all addresses.",
        )
    return host, int(port)


def _parse_proxy(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise InputError(
            f'"{text}" is not an address',
            where="--proxy",
            remedy="Give the address from which it connects, such as 127.0.0.1.",
        ) from None


def _parse_mail(url: str, sender: str) -> MailServer | None:
    if not url:
        return None
    try:
        return parse_mail_server(url, sender)
    except ValueError:
        # The address may hold a password: it is not repeated.
        raise InputError(
            "this is not a mail server with a sender",
            where="--mail-server",
            remedy="Give smtp://USER:PASSWORD@HOST:587, and --mail-from ADDRESS.",
        ) from None


def _read_arguments(arguments: list[str]) -> SimpleNamespace:
    command = click.Command(
        "datamill serve",
        params=make_parameters(),
        help="Run the coordinator of a fleet: web pages, API, and the broker that carries trials to "
        "workers.\n\n"
        "Ends with Ctrl-C; nothing is lost, however it ends.",
        epilog="docs/howto/coordinator.md: TLS, PostgreSQL, NATS clusters, backup, upgrade.",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    try:
        return SimpleNamespace(**command.make_context(command.name, list(arguments)).params)
    except click.exceptions.Exit as end:
        raise SystemExit(end.exit_code) from None
    except click.ClickException as problem:
        problem.show()
        raise SystemExit(problem.exit_code) from None


def make_parameters() -> list[click.Parameter]:
    """Return the options of `datamill serve`."""
    folder = default_data_folder()
    path = click.Path(path_type=Path)
    return [
        click.Option(
            ["--data"], type=path, default=folder, metavar="DIR", help=f"Where its state is [{folder}]."
        ),
        click.Option(
            ["--listen"],
            default=DEFAULT_LISTEN,
            metavar="HOST:PORT",
            help=f"Address of web and API [{DEFAULT_LISTEN}].",
        ),
        click.Option(
            ["--public-name"],
            multiple=True,
            metavar="NAME",
            help="A further name or address under which machines reach it, for its certificate; may be "
            "repeated.",
        ),
        click.Option(["--tls"], is_flag=True, help="Speak TLS on loopback too; other addresses always do."),
        click.Option(
            ["--tls-cert"],
            type=path,
            metavar="FILE",
            help="Your certificate (chain), instead of one by serve's own authority.",
        ),
        click.Option(["--tls-key"], type=path, metavar="FILE", help="Its key."),
        click.Option(
            ["--tls-ca"], type=path, metavar="FILE", help="Whom workers trust [the last of the chain]."
        ),
        click.Option(
            ["--database"],
            default="",
            metavar="URL",
            help="postgres://USER:PASSWORD@HOST:PORT/NAME [SQLite].",
        ),
        click.Option(
            ["--files"],
            default="",
            envvar="DATAMILL_FILES",
            metavar="URL",
            help="A bucket for files, s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION; its key is in "
            "$AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY; also $DATAMILL_FILES [the data folder].",
        ),
        click.Option(
            ["--nats"], multiple=True, metavar="URL", help="A broker of yours; may be repeated [our own]."
        ),
        click.Option(
            ["--nats-account-seed"], type=path, metavar="FILE", help="Seed (SA…) of the account there."
        ),
        click.Option(
            ["--nats-account"],
            default="",
            metavar="KEY",
            help="The account (A…) when the seed is its signing key.",
        ),
        # Of earlier versions: nothing is kept there any more, and scripts that name it go on working.
        click.Option(["--nats-replicas"], type=click.Choice(("1", "3", "5")), default="1", hidden=True),
        click.Option(
            ["--nats-ca"],
            type=path,
            metavar="FILE",
            help="Authority of that broker's certificate [the system's].",
        ),
        click.Option(
            ["--nats-port"],
            type=int,
            default=0,
            metavar="PORT",
            help="Port of the broker that serve starts [the one it had].",
        ),
        click.Option(
            ["--proxy"],
            multiple=True,
            metavar="ADDRESS",
            help="A reverse proxy whose X-Forwarded-For is believed; may be repeated [nobody's].",
        ),
        click.Option(
            ["--backup"],
            type=path,
            metavar="FILE",
            help="Copy the SQLite database to a file, also while a coordinator uses it, and end.",
        ),
        click.Option(
            ["--mail-server"],
            default="",
            envvar="DATAMILL_MAIL_SERVER",
            metavar="URL",
            help="Hands notices over as mail: smtp://USER:PASSWORD@HOST:587 (STARTTLS), smtps:// or "
            "smtp+plain://; also $DATAMILL_MAIL_SERVER [no mail].",
        ),
        click.Option(
            ["--mail-from"],
            default="",
            envvar="DATAMILL_MAIL_FROM",
            metavar="ADDRESS",
            help="Whom that mail comes from.",
        ),
        click.Option(
            ["--webhook-host"],
            multiple=True,
            metavar="HOST",
            help="A host inside your network that webhooks may name, also without TLS; may be repeated "
            "[none].",
        ),
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Show the version and exit.",
        ),
    ]


def _print_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:  # noqa: ARG001
    if wanted:
        click.echo(f"datamill serve {__version__}")
        context.exit()
