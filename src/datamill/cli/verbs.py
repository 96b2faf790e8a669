"""Groups of verbs, each in a module that bears its name and is imported when the verb is used."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

#: What stands for the data of a verb where these are no single table.
_EXAMPLES = {
    "import": "results.json",
    "compare": "old.csv new.csv",
    "choose": "scores.csv --count 7",
    **dict.fromkeys(("fit", "predict", "rank"), "scores.csv --application times.csv"),
}


class VerbGroup(click.Group):
    """Imports a verb when it is used, and offers the nearest one for a verb that it does not know.

    `verbs` has each with its line in the help; `package` is where their modules are, and
    `rooms` says in which folders of it: `new` need not wait for the statistics of `analyze`.
    `nested` names verbs that stand in groups of their own, each
    with its group: whoever leaves out the group is told the whole command.
    """

    def __init__(
        self,
        *arguments: Any,
        verbs: Mapping[str, str],
        package: str,
        rooms: Mapping[str, str] | None = None,
        nested: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._verbs = verbs
        self._nested = nested or {}
        self._package = package
        self._rooms = rooms or {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the verbs in the order of use."""
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a verb, or None when there is none of that name."""
        if cmd_name not in self._verbs:
            return None
        # `import` is a word of Python's, so that no module can bear its name.
        name = f"{cmd_name}_" if cmd_name == "import" else cmd_name
        room = f".{self._rooms[cmd_name]}" if cmd_name in self._rooms else ""
        command = getattr(import_module(f"{self._package}{room}.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(self._verbs.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return verbs and options that begin with what was typed, without importing the verbs."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=line)
            for name, line in self._verbs.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or fail with the nearest one."""
        if args and not args[0].startswith("-") and args[0] not in self._verbs:
            if group := self._nested.get(args[0]):
                typed = shlex.join([*ctx.command_path.split(), group, *args])
                ctx.fail(f'"{args[0]}" is a verb of {group}. Type: {typed}')
            # Imported late: most commands are typed right.
            from datamill.experiment.messages.suggestions import suggest_name

            ctx.fail(f'unknown verb "{args[0]}". {suggest_name(args[0], self._verbs)}')
        return super().resolve_command(ctx, args)


class DataArgument(click.Argument):
    """A path that must be given; who leaves it out is told what to type."""

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Check the value as click does.

        Raises:
            click.UsageError: it is missing; the message has the command with an example in its place.
        """
        try:
            return super().process_value(ctx, value)
        except click.MissingParameter:
            raise self.refuse(ctx, self.make_metavar(ctx)) from None

    @staticmethod
    def refuse(ctx: click.Context, metavar: str) -> click.UsageError:
        """Return the error for data that are missing, with the command and an example in their place."""
        example = _EXAMPLES.get(ctx.info_name or "", "table.csv")
        return click.UsageError(
            f"{metavar} is missing: name a file or a folder. Such as: {ctx.command_path} {example}", ctx
        )
