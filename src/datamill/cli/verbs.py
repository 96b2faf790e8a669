"""Groups of verbs, each in a module that bears its name and is imported when the verb is used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from datamill.experiment.suggestions import suggest_name


class VerbGroup(click.Group):
    """Imports a verb when it is used, and offers the nearest one for a verb that it does not know.

    `verbs` has each with its line in the help; `package` is where their modules are: `new` need not
    wait for the statistics of `analyze`.
    """

    def __init__(self, *arguments: Any, verbs: Mapping[str, str], package: str, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._verbs = verbs
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the verbs in the order of use."""
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a verb, or None when there is none of that name."""
        if cmd_name not in self._verbs:
            return None
        # `import` is a word of Python's, so that no module can bear its name.
        name = f"{cmd_name}_" if cmd_name == "import" else cmd_name
        command = getattr(import_module(f"{self._package}.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(self._verbs.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or fail with the nearest one."""
        if args and not args[0].startswith("-") and args[0] not in self._verbs:
            ctx.fail(f'unknown verb "{args[0]}". {suggest_name(args[0], self._verbs)}')
        return super().resolve_command(ctx, args)
