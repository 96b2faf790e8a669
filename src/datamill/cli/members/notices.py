"""`datamill notices`: where one hears of what happened, by webhook, mail or feed."""

from __future__ import annotations

import click
from rich import box
from rich.table import Table
from rich.text import Text

from datamill.cli.console import make_table_console, name_command, print_clean
from datamill.cli.coordinator.coordinator_client import connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.cli.coordinator.group_options import connect_in_group, keep_options
from datamill.cli.json_answer import spell_answer
from datamill.cli.members.moments import format_moment
from datamill.experiment.messages.phrases import count_nouns
from datamill.protocol.api.members.addresses import (
    ConfirmationRequest,
    MadeNoticeTarget,
    NoticeSubject,
    NoticeTargetLine,
    NoticeTargetRequest,
    TargetKind,
)

_ABOUT = click.option(
    "--about",
    type=click.Choice(["ended", "waits", "machine"]),
    multiple=True,
    help="Only of experiments that ended, that wait for you, or of machines; repeatable.",
)
_NUMBER = click.argument("number", metavar="NUMBER", type=click.IntRange(min=1))


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@coordinator_options
@click.pass_context
def notices(context: click.Context, as_json: bool, url: str | None, key: str | None) -> None:
    """List the addresses that notices of your experiments and machines go to."""
    if context.invoked_subcommand is not None:
        keep_options(context, url, key)
        return
    with connect(url, key) as coordinator:
        found = coordinator.get("/notices", list[NoticeTargetLine])
    if as_json:
        told = f"Your notices go to {count_nouns(len(found), 'place')}."
        warnings = [f"{_name(item)} is {_say_state(item)}." for item in found if item.trouble]
        click.echo(spell_answer(told, targets=found, warnings=warnings))
        return
    if not found:
        print_clean(
            f"Nothing is sent to you yet: {name_command()} notices webhook URL, mail ADDRESS, or feed"
        )
        return
    table = Table(box=box.SIMPLE, pad_edge=False)
    for header in ("number", "where", "about", "state", "last arrived", "what went wrong"):
        table.add_column(header, no_wrap=header == "number", overflow="fold")
    for item in found:
        table.add_row(
            str(item.id),
            Text(_name(item)),
            ", ".join(item.subjects),
            _say_state(item),
            format_moment(item.sent_unix_s),
            Text(item.trouble),
        )
    make_table_console().print(table)


def _name(item: NoticeTargetLine) -> str:
    return f"{item.kind} {item.address}".strip()


def _say_state(item: NoticeTargetLine) -> str:
    if not item.confirmed:
        return "not confirmed"
    if item.paused_unix_s is not None:
        return "given up"
    return "tried again" if item.trouble else "in use"


def _add(
    context: click.Context,
    kind: TargetKind,
    address: str,
    about: tuple[NoticeSubject, ...],
    url: str | None,
    key: str | None,
) -> MadeNoticeTarget:
    with connect_in_group(context, url, key) as coordinator:
        return coordinator.post("/notices", MadeNoticeTarget, NoticeTargetRequest(kind, address, about))


@notices.command()
@click.argument("address", metavar="URL")
@_ABOUT
@coordinator_options
@click.pass_context
def webhook(
    context: click.Context, address: str, about: tuple[NoticeSubject, ...], url: str | None, key: str | None
) -> None:
    """Send notices to the https address URL, signed as Standard Webhooks has it."""
    made = _add(context, "webhook", address, about, url, key)
    print_clean(f"address {made.target.id}: {made.target.address}")
    print_clean(f"its key for signatures, shown this once: {made.secret}")


@notices.command()
@click.argument("address")
@_ABOUT
@coordinator_options
@click.pass_context
def mail(
    context: click.Context, address: str, about: tuple[NoticeSubject, ...], url: str | None, key: str | None
) -> None:
    """Send notices to a mail ADDRESS, once you have confirmed it by the code that comes there."""
    made = _add(context, "mail", address, about, url, key)
    print_clean(
        f"A code went to {made.target.address}: {name_command()} notices confirm {made.target.id} CODE"
    )


@notices.command()
@_ABOUT
@coordinator_options
@click.pass_context
def feed(context: click.Context, about: tuple[NoticeSubject, ...], url: str | None, key: str | None) -> None:
    """Make the address of a feed for your news reader; an earlier one is void."""
    made = _add(context, "feed", "", about, url, key)
    print_clean(f"your feed, shown this once: {made.feed}")


@notices.command()
@_NUMBER
@click.argument("code")
@coordinator_options
@click.pass_context
def confirm(context: click.Context, number: int, code: str, url: str | None, key: str | None) -> None:
    """Confirm the mail address NUMBER by the CODE that was sent there; a wrong one removes it."""
    with connect_in_group(context, url, key) as coordinator:
        found = coordinator.post(f"/notices/{number}/confirm", NoticeTargetLine, ConfirmationRequest(code))
    print_clean(f"{found.address} is confirmed")


@notices.command("try")
@_NUMBER
@coordinator_options
@click.pass_context
def try_address(context: click.Context, number: int, url: str | None, key: str | None) -> None:
    """Send the address NUMBER a notice that says nothing; the list soon says whether it arrived."""
    with connect_in_group(context, url, key) as coordinator:
        found = coordinator.post(f"/notices/{number}/try", NoticeTargetLine)
    print_clean(f"a notice is on its way to {found.address}")


@notices.command()
@_NUMBER
@coordinator_options
@click.pass_context
def resume(context: click.Context, number: int, url: str | None, key: str | None) -> None:
    """Send to the address NUMBER again that was given up, and what waits for it at once."""
    with connect_in_group(context, url, key) as coordinator:
        found = coordinator.post(f"/notices/{number}/resume", NoticeTargetLine)
    print_clean(f"{found.kind} {found.address}: {_say_state(found)}")


@notices.command()
@_NUMBER
@coordinator_options
@click.pass_context
def remove(context: click.Context, number: int, url: str | None, key: str | None) -> None:
    """Send nothing to the address NUMBER any more."""
    with connect_in_group(context, url, key) as coordinator:
        left = coordinator.post(f"/notices/{number}/remove", list[NoticeTargetLine])
    print_clean(f"removed; {count_nouns(len(left), 'place')} left")
