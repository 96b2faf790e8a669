"""Execute the measured part of a benchmark of pyperformance once, as a region of the tracer.

    once.py run_benchmark.py [ARGUMENT]

Start-up, imports and set-up are left out, as note 19 of the thesis asks: the region is what the benchmark
itself times, from one reading of pyperf's clock to the next, or the function that it gives to pyperf to time.
"""

import asyncio
import ctypes
import inspect
import runpy
import sys

import pyperf

tracer = ctypes.PyDLL(None)
enable, disable = tracer.datamill_trace_enable, tracer.datamill_trace_disable
clock = pyperf.perf_counter
timed = False


def read_clock():
    """Pyperf's clock, which begins a region and ends it in turn."""
    global timed
    timed = not timed
    now = clock()
    (enable if timed else disable)()
    return now


class Runner(pyperf.Runner):
    """Executes what it is given once, in this process."""

    def bench_time_func(self, _name, time_func, *args, **_):
        """Its own readings of the clock are the region, where it has any."""
        inside = "perf_counter" in inspect.getsource(inspect.unwrap(time_func))
        if not inside:
            enable()
        time_func(1, *args)
        disable()

    def bench_func(self, _name, func, *args, **_):
        """The whole call is the region."""
        enable()
        func(*args)
        disable()

    def bench_async_func(self, _name, func, *args, **_):
        """The whole call is the region, without its loop's making."""
        loop = asyncio.new_event_loop()
        enable()
        loop.run_until_complete(func(*args))
        disable()


pyperf.Runner, pyperf.perf_counter = Runner, read_clock
script, sys.argv = sys.argv[1], sys.argv[1:]
# Scripts import their neighbours.
sys.path[0] = script.rpartition("/")[0]
runpy.run_path(script, run_name="__main__")
