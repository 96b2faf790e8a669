"""Programs whose allocations are traced: from few slow requests to many, about a second each."""

from __future__ import annotations

PROGRAMS = {
    "float": """
from math import cos, sin, sqrt
class Point:
    __slots__ = ("x", "y", "z")
    def __init__(self, i):
        self.x = x = sin(i)
        self.y = cos(i) * 3
        self.z = (x * x) / 2
    def normalize(self):
        norm = sqrt(self.x ** 2 + self.y ** 2 + self.z ** 2)
        self.x /= norm
        self.y /= norm
        self.z /= norm
for _ in range(8):
    points = [Point(i) for i in range(100_000)]
    for point in points:
        point.normalize()
""",
    "json": """
import json
record = {"items": [{f"key{i}": i, "text": "x" * 20, "float": 1.5 * i} for i in range(50)]}
for _ in range(15_000):
    json.loads(json.dumps(record))
""",
    "pickle": """
import pickle
record = {"items": [{f"key{i}": i, "text": "x" * 20, "pair": (i, 1.5 * i)} for i in range(100)]}
for _ in range(12_000):
    pickle.loads(pickle.dumps(record))
""",
    "regex": """
import re
text = "the quick brown fox jumps over 123 lazy dogs and 4567 cats; " * 200
for _ in range(900):
    re.findall(r"\\b(\\w+)\\s(\\w+)\\b", text)
    re.sub(r"\\d+", lambda found: found.group() * 2, text)
""",
    "symbolic": """
def multiply(a, b):
    product = {}
    for (i, j), x in a.items():
        for (k, m), y in b.items():
            key = (i + k, j + m)
            product[key] = product.get(key, 0) + x * y
    return product
def write(polynomial):
    return " + ".join(f"{c}*x**{i}*y**{j}" for (i, j), c in sorted(polynomial.items()))
for _ in range(300):
    power = {(0, 0): 1}
    for _ in range(24):
        power = multiply(power, {(1, 0): 1, (0, 1): 1, (0, 0): 3})
    write(power)
""",
    "containers": """
def work(count):
    kept = []
    for i in range(count):
        items = []
        for j in range(20):
            items.append(j)
        table = {}
        for j in range(12):
            table[j] = items
        unique = set()
        for j in range(10):
            unique.add(j)
        kept.append((items, table, unique))
        if len(kept) > 200:
            kept = []
work(400_000)
""",
}
