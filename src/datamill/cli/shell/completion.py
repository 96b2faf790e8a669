"""`datamill completion`: the script by which a shell completes verbs, options and files."""

from __future__ import annotations

import click

#: By it the script asks this command; click reads it.
_VARIABLE = "_DATAMILL_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes datamill's verbs and options in your shell.

    Add one line to what your shell reads when it starts:

    \b
      bash, ~/.bashrc:    eval "$(datamill completion bash)"
      zsh, ~/.zshrc:      eval "$(datamill completion zsh)"
      fish, ~/.config/fish/config.fish:   datamill completion fish | source
    """  # noqa: D301 - click needs the backspace itself
    # Imported late: it is of use here alone.
    from click.shell_completion import get_completion_class

    writer = get_completion_class(shell)
    assert writer is not None, f"click has no completion for {shell}"
    root = click.get_current_context().find_root()
    variables = writer(root.command, {}, "datamill", _VARIABLE).source_vars()
    # Not `source()`, which starts a shell to learn its version.
    click.echo(writer.source_template % variables)
