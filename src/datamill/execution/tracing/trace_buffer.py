"""A buffer of the kernel's own events, apart from all others (an instance of tracefs), and its pages."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from datamill.experiment.errors import InputError

_NAME = "datamill-"
_LARGEST_TOTAL_KIB, _LARGEST_KIB = 256 << 10, 16 << 10
#: Ends with us: it reads nothing until our end of its input is gone, by whichever death.
_KEEPER = """\
cd "$1" || exit
cat
[ -d "$2" ] || exit
echo 0 > "$2/tracing_on"
echo nop > "$2/current_tracer"
for turn in 1 2 3 4 5 6 7 8 9 10; do rmdir "$2" && exit; sleep 0.2; done
"""


class TraceBuffer:
    """A buffer with a part for each processor, which keeps what came first when it is full.

    Args:
        folder: of the instance.
        page_size: in bytes.
    """

    def __init__(self, folder: Path, page_size: int, open_files: ExitStack) -> None:
        self.folder, self._page_size = folder, page_size
        self._files = []
        for part in sorted((folder / "per_cpu").iterdir(), key=lambda path: int(path.name[3:])):
            file = os.open(part / "trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            open_files.callback(os.close, file)
            self._files.append(file)
        #: Pages of each processor, in their order.
        self.pages: list[list[bytes]] = [[] for _ in self._files]

    def enable(self, event: str) -> bool:
        """Ask for an event by its path; return whether this kernel has it."""
        return self.put(f"events/{event}/enable", "1")

    def put(self, name: str, text: str, *, add: bool = False) -> bool:
        """Write to one of the instance's files, or add to a list; return whether the kernel takes it."""
        try:
            # Opened for writing anew, a list is emptied.
            with (self.folder / name).open("a" if add else "w", encoding="ascii") as file:
                file.write(text)
        except OSError:
            return False
        return True

    def take_pages(self, *, most: int) -> int:
        """Move what is there now to `pages`, at most so many bytes; return how many these are."""
        taken = 0
        for file, pages in zip(self._files, self.pages, strict=True):
            while taken < most:
                with suppress(BlockingIOError):
                    page = os.read(file, self._page_size)
                    if page:
                        # Most pages are full; those that are not need no room for what is not there.
                        used = 16 + (int.from_bytes(page[8:16], "little") & 0xFFFFF)
                        pages.append(page[:used])
                        taken += used
                        continue
                break
        return taken

    def count_lost(self) -> int:
        """Return how many events found no room."""
        lost = 0
        for part in (self.folder / "per_cpu").iterdir():
            for line in (part / "stats").read_text(encoding="ascii").splitlines():
                what, _, number = line.partition(":")
                if what in ("overrun", "commit overrun", "dropped events"):
                    lost += int(number)
        return lost


@contextmanager
def opening_buffer(tracefs: Path, name: str, page_size: int) -> Iterator[TraceBuffer]:
    """Make a buffer, stopped and with no event in it; it is gone afterwards, also when we are killed.

    Raises:
        InputError: the kernel gives none.
    """
    folder = tracefs / "instances" / f"{_NAME}{name}-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        raise InputError(
            f"the kernel gives no buffer for its events: {error.strerror}",
            remedy="Be root on the machine itself: the traces of a container are those of its host.",
        ) from error
    with _keeping(folder), ExitStack() as open_files:
        buffer = TraceBuffer(folder, page_size, open_files)
        buffer.put("tracing_on", "0")
        buffer.put("options/overwrite", "0")
        # One clock for all processors, in nanoseconds.
        if not buffer.put("trace_clock", "mono"):
            raise InputError(
                "this kernel's traces have no clock in nanoseconds", remedy="Use Linux 5.2 or later."
            )
        share = _LARGEST_TOTAL_KIB // len(buffer.pages)
        buffer.put("buffer_size_kb", str(min(_LARGEST_KIB, share)))
        yield buffer
        buffer.put("tracing_on", "0")
        buffer.put("current_tracer", "nop")


@contextmanager
def _keeping(folder: Path) -> Iterator[None]:
    # In a session of its own, so that what ends us by the terminal leaves it its work. It inherits our mount.
    with subprocess.Popen(
        ["sh", "-c", _KEEPER, "sh", str(folder.parent), folder.name],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as keeper:
        yield
        assert keeper.stdin is not None
        keeper.stdin.close()
        keeper.wait()
