"""A process that draws figures: charts come in as lines of JSON, drawings go out the same way.

Waking the converter takes a third of a second in which Python cannot do anything else, and drawing
as long again; in a process of its own both happen beside the analysis.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TextIO

import vl_convert

from datamill.report.figures.end_with_parent import end_with_parent


def serve_drawings(charts: TextIO, drawings: TextIO) -> None:
    """Answer each line, a Vega-Lite chart, by one line: `{"svg": …}` or `{"error": …}`."""
    for chart in charts:
        try:
            answer = {"svg": str(vl_convert.vegalite_to_svg(chart))}
        except ValueError as error:
            answer = {"error": str(error)}
        drawings.write(json.dumps(answer) + "\n")
        drawings.flush()


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    # Woken at once: whoever starts this process is about to send a chart.
    vl_convert.vegalite_to_svg({"data": {"values": []}, "mark": "point"})
    try:
        serve_drawings(sys.stdin, sys.stdout)
    except (BrokenPipeError, KeyboardInterrupt):
        # Nobody waits for the drawing any more.
        os._exit(0)
