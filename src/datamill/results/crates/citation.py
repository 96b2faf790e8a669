"""How a published result is cited: as text, as BibTeX, and as CITATION.cff."""

from __future__ import annotations

import json
import re

from datamill.results.crates.description import Author, Description

#: What BibTeX takes for markup, and how it is written as itself.
_BIBTEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#",
    "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def cite_as_text(description: Description) -> str:
    """Authors (year): title. Address, digest."""
    names = [_abbreviate(author) for author in description.authors]
    shown = ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
    title = description.title if description.title.endswith(("?", "!", ".")) else f"{description.title}."
    parts = [f"{shown} ({description.date[:4]}): {title} Experiment, datamill."]
    if description.address:
        parts.append(f"{description.address}.")
    if description.digest:
        parts.append(f"SHA-256 {description.digest}.")
    return " ".join(parts)


def cite_as_bibtex(description: Description) -> str:
    """An entry `@misc`; BibTeX knows no data sets."""
    first = re.sub(r"[^A-Za-z0-9]", "", description.authors[0].family) or "datamill"
    key = f"{first.lower()}{description.date[:4]}{description.digest[:8]}"
    names = " and ".join(
        f"{_escape(item.family)}, {_escape(item.given)}" if item.given else f"{{{_escape(item.family)}}}"
        for item in description.authors
    )
    fields = {
        "author": names,
        "title": f"{{{_escape(description.title)}}}",
        "year": description.date[:4],
        "month": str(int(description.date[5:7])),
        "howpublished": "Experiment, datamill",
    }
    if description.address:
        fields["url"] = _escape_address(description.address)
    if description.digest:
        fields["note"] = f"SHA-256 {description.digest}"
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items()]
    return f"@misc{{{key},\n" + ",\n".join(lines) + "\n}\n"


def cite_as_cff(description: Description) -> str:
    """A file CITATION.cff, version 1.2.0; texts are JSON, which YAML takes for quoted texts."""
    lines = [
        "cff-version: 1.2.0",
        'message: "If you use these results, please cite them as below."',
        "type: dataset",
        f"title: {_quote(description.title)}",
        "authors:",
    ]
    for author in description.authors:
        if author.given:
            lines += [
                f"  - family-names: {_quote(author.family)}",
                f"    given-names: {_quote(author.given)}",
            ]
            if description.organisation is not None:
                lines.append(f"    affiliation: {_quote(description.organisation.name)}")
        else:
            lines.append(f"  - name: {_quote(author.family)}")
    # What carries no licence was not released.
    if description.licence:
        lines.append(f'date-released: "{description.date}"')
        lines.append(f"license: {description.licence}")
    if description.address:
        lines.append(f"url: {_quote(description.address)}")
    if description.digest:
        lines += [
            "identifiers:",
            "  - type: other",
            f'    value: "sha256:{description.digest}"',
            '    description: "Digest of the published archive"',
        ]
    if description.summary:
        lines.append(f"abstract: {_quote(description.summary)}")
    return "\n".join(lines) + "\n"


def _abbreviate(author: Author) -> str:
    initials = " ".join(f"{part[0]}." for part in author.given.split())
    return f"{author.family} {initials}".strip()


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _escape(text: str) -> str:
    return "".join(_BIBTEX.get(letter, letter) for letter in text)


def _escape_address(text: str) -> str:
    return "".join(f"%{ord(letter):02X}" if letter in "{}\\ " else letter for letter in text)
