"""What the coordinator has to say, on the standard error stream: a line for what users did wrong."""

from __future__ import annotations

import logging
import sys
from typing import IO

from datamill.service.front_door.repeats import CalmHandler, RepeatsTeller

_FORMAT = "%(asctime)s %(levelname).1s %(name)s: %(message)s"


class QuietRefusals(logging.Filter):
    """Makes one line of information of each request that was refused for what its sender did.

    Django warns of all of them, of some with a traceback. Errors of our own (status 5xx) stay as they are.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record where it is of a refusal; none is left out."""
        status = getattr(record, "status_code", None)
        if record.name.startswith("django.") and isinstance(status, int) and 400 <= status < 500:
            request = getattr(record, "request", None)
            method, path = getattr(request, "method", None) or "?", getattr(request, "path", "")
            # A path is what the sender made of it, line ends included.
            record.msg, record.args = f"refused with {status}: %s %s", (method, ascii(path)[1:-1])
            record.levelno, record.levelname = logging.INFO, logging.getLevelName(logging.INFO)
            record.exc_info = record.exc_text = record.stack_info = None
        return True


def make_log_handler(stream: IO[str]) -> CalmHandler:
    """Return the handler through which all of the log goes."""
    handler = CalmHandler(stream)
    handler.setFormatter(logging.Formatter(_FORMAT))
    handler.addFilter(QuietRefusals())
    return handler


def show_log() -> None:
    """Write what the coordinator has to say to the standard error stream."""
    handler = make_log_handler(sys.stderr)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    RepeatsTeller(handler).start()
    for name in ("uvicorn", "uvicorn.error", "nats"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # With TLS it warns of every connection that the other side closes first.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
