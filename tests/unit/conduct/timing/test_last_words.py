"""What a message quotes of a program's last words."""

import pytest

from datamill.conduct.timing.executions import strip_colours


@pytest.mark.parametrize(
    "said",
    [
        "\x1b[1;31mno such file\x1b[0m",
        "\x1b[38:5:196mno such file\x1b[m",
        "\x1b[2K\x1b[1Gno such\x1b[?25h file",
        "\x1b]8;;https://example.org\x07no such file\x1b]8;;\x07",
        "\x1b]0;a title\x1b\\no such file",
    ],
)
def test_nothing_that_is_meant_for_a_terminal_is_quoted(said: str) -> None:
    assert strip_colours(said) == "no such file"
