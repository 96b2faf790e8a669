"""Time each insertion into a dictionary, a set or a list, and mark those that gave it another table.

    insertions.py dict|set|list COUNT TABLE.csv

Section 2.5.3 instrumented the interpreter's own functions; here the program's clock is read around each
insertion, and the object's size says whether it grew. The cost of
reading the clock, its least difference, is subtracted.
"""

import sys
from pathlib import Path
from time import perf_counter_ns

kind, count, file = sys.argv[1], int(sys.argv[2]), sys.argv[3]
cost = min(perf_counter_ns() * -1 + perf_counter_ns() for _ in range(1000))
size = sys.getsizeof
# All memory that is not the container's own is there before it grows.
latencies, grew, items = [0] * count, [False] * count, [bytearray(1) for _ in range(count)]
container = {"dict": dict, "set": set, "list": list}[kind]()
names = {"dict": "__setitem__", "set": "add", "list": "append"}
insert = getattr(container, names[kind])
before = size(container)
for turn in range(count):
    if kind == "dict":
        begin = perf_counter_ns()
        insert(turn, items[turn])
        end = perf_counter_ns()
    elif kind == "set":
        begin = perf_counter_ns()
        insert(turn)
        end = perf_counter_ns()
    else:
        begin = perf_counter_ns()
        insert(items[turn])
        end = perf_counter_ns()
    latencies[turn] = max(0, end - begin - cost)
    now = size(container)
    grew[turn] = now != before
    before = now
with Path(file).open("w") as table:
    table.write("index,latency_ns,binned\n")
    for turn in range(count):
        table.write(f"{turn},{latencies[turn]},{'true' if grew[turn] else 'false'}\n")
