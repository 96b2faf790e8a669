"""A notice sent by mail, over the server that the operator names."""

from __future__ import annotations

import smtplib
import ssl
from dataclasses import dataclass
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

from datamill.service.notices.webhooks import UndeliveredError

_WAIT_S = 20.0


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail is handed over, and from whom it comes; `tls` is "none", "starttls" or "all"."""

    host: str
    port: int
    tls: str
    user: str
    password: str
    sender: str


def parse_mail_server(url: str, sender: str) -> MailServer:
    """Return the server of `smtp://`, `smtp+plain://` or `smtps://USER:PASSWORD@HOST:PORT`.

    `smtp` goes over to TLS before anything is said, `smtps` begins with it, `smtp+plain` has none.

    Raises:
        ValueError: when it has another form, or the sender is not an address.
    """
    kinds = {"smtp": ("starttls", 587), "smtps": ("all", 465), "smtp+plain": ("none", 25)}
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in kinds or not parts.hostname or "@" not in sender:
        raise ValueError(url)
    tls, usual = kinds[parts.scheme]
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return MailServer(parts.hostname, port or usual, tls, user, password, sender)


def send_mail(server: MailServer, to: str, subject: str, text: str) -> None:
    """Hand a mail over.

    Raises:
        UndeliveredError: the server did not take it.
    """
    message = EmailMessage()
    message["From"], message["To"] = server.sender, to
    message["Subject"] = " ".join(subject.split())[:200]
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text)
    try:
        with _connect(server) as connection:
            if server.user:
                connection.login(server.user, server.password)
            connection.send_message(message)
    except (OSError, smtplib.SMTPException, ValueError) as error:
        # What a server answers may name the user; the password is in none of it.
        raise UndeliveredError(f"{type(error).__name__}: {error}"[:300]) from None


def _connect(server: MailServer) -> smtplib.SMTP:
    context = ssl.create_default_context()
    if server.tls == "all":
        return smtplib.SMTP_SSL(server.host, server.port, timeout=_WAIT_S, context=context)
    connection = smtplib.SMTP(server.host, server.port, timeout=_WAIT_S)
    if server.tls == "starttls":
        connection.starttls(context=context)
    return connection
