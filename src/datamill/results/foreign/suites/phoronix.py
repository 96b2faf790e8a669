"""Result files of the Phoronix Test Suite (`composite.xml`): results of one or several systems."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns
from datamill.results.foreign.content import Content
from datamill.results.foreign.suites.suite_results import SuiteFormat, SuiteResults, SuiteValue
from datamill.results.foreign.units import find_conversion

_TITLE = "a result file of the Phoronix Test Suite"
#: Forms of results that are one number.
_NUMBERS = ("", "BAR_GRAPH", "BAR_ANALYZE_GRAPH", "HORIZONTAL_BAR_GRAPH", "BOX_PLOT", "HORIZONTAL_BOX_PLOT")
_VERSION = re.compile(r"-\d+(\.\d+)*$")


def claims_phoronix(content: Content) -> bool:
    """Whether the text is XML with the suite's own root and a result."""
    start = content.text[:4096]
    return start.lstrip().startswith("<") and "<PhoronixTestSuite" in start and "<Result>" in content.text


def read_phoronix(content: Content) -> SuiteResults:
    """Return the values of every result that is a number, and what the file says of its systems.

    A benchmark is called by its identifier without the version, and by what was asked of it. Times are
    brought to seconds; of other units HIB (more is better) is a score, and LIB the reciprocal of one.

    Raises:
        InputError: the XML is not whole or declares a type, or no result is a number.
    """
    if "<!DOCTYPE" in content.text or "<!ENTITY" in content.text:
        raise InputError(
            f"this is {_TITLE}, but it declares a document type or entities",
            where=content.source,
            remedy="Give the file as the suite wrote it.",
        )
    try:
        root = ElementTree.fromstring(content.text)
    except ElementTree.ParseError as error:
        raise InputError(
            f"this is {_TITLE}, but the XML is not whole: {error}",
            where=content.source,
            remedy="Give the file as the suite wrote it.",
        ) from None
    values: list[SuiteValue] = []
    counts: Counter[tuple[str, str]] = Counter()
    left_out = 0
    for result in root.iter("Result"):
        benchmark = _name_benchmark(result)
        if not benchmark or _text(result, "DisplayFormat").upper() not in _NUMBERS:
            left_out += 1
            continue
        found = _read_entries(result, benchmark, counts)
        left_out += not found
        values += found
    if not values:
        raise InputError(
            f"this is {_TITLE}, but no result in it is a number above zero",
            where=content.source,
            remedy="Give results of benchmarks.",
        )
    facts = {}
    for system in root.iter("System"):
        name, found_facts = _text(system, "Identifier"), _read_facts(_text(system, "Hardware"))
        if name and found_facts:
            facts[name] = found_facts
    told = f"{count_nouns(left_out, 'result')} of sensors, installations, graphs or failures left out"
    notes = [told] if left_out else []
    return SuiteResults(values, facts, notes)


def _text(element: ElementTree.Element, name: str) -> str:
    return (element.findtext(name) or "").strip()


def _name_benchmark(result: ElementTree.Element) -> str:
    """The identifier without its version, and what was asked; empty for what a sensor told."""
    identifier = _VERSION.sub("", _text(result, "Identifier"))
    if not identifier:
        return ""
    asked = _text(result, "Description")
    scale = _text(result, "Scale")
    # Some benchmarks report several quantities under one description, told apart by their unit alone.
    return " ".join(part for part in (identifier, asked, f"[{scale}]" if scale else "") if part)


def _read_entries(
    result: ElementTree.Element, benchmark: str, counts: Counter[tuple[str, str]]
) -> list[SuiteValue]:
    scale = _text(result, "Scale")
    conversion = find_conversion(_spell_unit(scale))
    lower = _text(result, "Proportion").upper() != "HIB"
    values = []
    for entry in result.iter("Entry"):
        machine = _text(entry, "Identifier")
        raw = [number for part in _text(entry, "RawString").split(":") if (number := _read_number(part))]
        single = _read_number(_text(entry, "Value"))
        for number in raw or ([single] if single else []):
            counts[machine, benchmark] += 1
            replicate = counts[machine, benchmark]
            if not lower:
                values.append(SuiteValue(machine, benchmark, replicate, number, "score", scale))
            elif conversion.unit == "s":
                values.append(
                    SuiteValue(machine, benchmark, replicate, conversion.apply(number), "seconds", "s")
                )
            else:
                values.append(SuiteValue(machine, benchmark, replicate, 1 / number, "score", f"1/{scale}"))
    return [value for value in values if value.machine]


def _spell_unit(scale: str) -> str:
    words = {
        "seconds": "s", "sec": "s", "second": "s", "milliseconds": "ms", "ms": "ms", "microseconds": "us",
        "us": "us", "nanoseconds": "ns", "ns": "ns", "minutes": "min",
    }  # fmt: skip
    return words.get(scale.lower(), scale)


def _read_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None


def _read_facts(hardware: str) -> dict[str, float]:
    """Clock, cores, threads, memory of a line such as `Processor: … @ 3.4GHz (4 Cores / 8 Threads), …`."""
    facts: dict[str, float] = {}
    if found := re.search(r"@\s*(\d+(?:\.\d+)?)\s*GHz", hardware):
        facts["clock_mhz"] = float(found[1]) * 1000
    if found := re.search(r"(\d+)\s*Cores?\b", hardware):
        facts["cores"] = float(found[1])
    if found := re.search(r"(\d+)\s*Threads?\b", hardware):
        facts["threads"] = float(found[1])
    if found := re.search(r"Memory:\s*(?:(\d+)\s*x\s*)?(\d+(?:\.\d+)?)\s*(MB|GB|TB)", hardware):
        size = {"MB": 1024.0, "GB": 1024.0**2, "TB": 1024.0**3}[found[3]]
        facts["memory_kb"] = float(found[1] or 1) * float(found[2]) * size
    return facts


PHORONIX = SuiteFormat("phoronix", _TITLE, (".xml",), claims_phoronix, read_phoronix)
