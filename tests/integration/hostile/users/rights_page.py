"""The page of rights: every address with those who may come there, written from the table that is tried.

PYTHONPATH=tests .venv/bin/python -m integration.hostile.users.rights_page > docs/reference/rights.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from integration.hostile.users.routes import NAMED_IN_QUERIES, ROUTES, Right

from datamill.service.api.scopes import find_scope

PAGE = "docs/reference/rights.md"
#: Who comes -> the rights of `routes.py` that they have at what is Ada's, and on Carol's machine.
PEOPLE_RIGHTS: Mapping[str, frozenset[Right]] = {
    "anonymous": frozenset({"open"}),
    "another user": frozenset({"open", "member"}),
    "the owner": frozenset({"open", "member", "visible", "owner", "own"}),
    "a worker's key": frozenset({"open", "worker"}),
    "the machine's owner": frozenset({"open", "member", "machine"}),
    "an administrator": frozenset({"open", "member", "visible", "owner", "machine", "admin"}),
}
_HEAD = """# Who may do what

Every address of the coordinator, and who may come there: `GET` reads, `POST` changes something. *Yes*
stands for those who are served; all others are refused, are shown nothing and change nothing. Each cell is
tried: `make rights` writes this page from the table of a test
([routes.py](../../tests/integration/hostile/users/routes.py)), and a new address without a line there fails.

- **anonymous**: not logged in, and without a key. **Another user** has an account and nothing else to do
  with it.
- **owner**: of the experiment, the publication, the address for notices. Experiments here are private; a
  public one is read by every user.
- **worker's key**: the key for files of a machine that joined.
- **machine's owner**: who lent the machine, and has no part in the experiment that it runs.
- **administrator**: may do all but what is somebody's own.
- **scope**: a [key](api.md#keys-and-errors) for the API does what its user may, and of that what its scopes
  say. Pages take a session and no key.

Lists and searches hold what their reader may see, and no more. Three addresses are answered before all
others: `/files/SHA256` by the key of a user who brought the file or may see an experiment with it, or of a
worker whose trial needs it (scopes `read` and `submit`); `/ca.pem` and `/api/health` by everybody.
`/notices.atom` asks for the key of a feed, `/api/workers/enrol` for the token of a machine, in the place of
an account.
"""


def may_do(person: str, right: Right) -> bool:
    """Tell whether somebody has a right."""
    return right in PEOPLE_RIGHTS[person]


def format_page() -> str:
    """Return the page, a table of pages and one of the API."""
    rows = list(_list_rows())
    titles = (("Pages", False), ("API", True))
    tables = (
        f"\n## {title}\n{_format_table([row for row in rows if row[0].startswith('/api/') == is_api])}"
        for title, is_api in titles
    )
    return _HEAD + "".join(tables)


def _list_rows() -> Iterator[tuple[str, str, Right, str]]:
    """Yield address, method, right, and the scope that a key needs there."""
    for route, rights in ROUTES.items():
        for method, right in zip(("GET", "POST"), rights, strict=True):
            if right is not None:
                needs_key = route.startswith("api/") and right not in ("open", "worker")
                yield _spell_address(route), method, right, find_scope(method, route) if needs_key else ""
    for address, right in NAMED_IN_QUERIES.items():
        yield f"/{re.sub('{.+?}', 'ID', address.partition('&form=')[0])}", "GET", right, ""


def _spell_address(route: str) -> str:
    def put(match: re.Match[str]) -> str:
        name = match[1].rpartition(":")[2]
        return (
            "ID"
            if name.endswith("_id") or (name == "number" and "experiments/<number>" in route)
            else name.upper()
        )

    return "/" + re.sub(r"<([^>]+)>", put, route)


def _format_table(rows: list[tuple[str, str, Right, str]]) -> str:
    people = [name.removeprefix("a ").removeprefix("an ").removeprefix("the ") for name in PEOPLE_RIGHTS]
    lines = [f"| address | {' | '.join(people)} | scope |", f"|---|{'---|' * len(people)}---|"]
    for address, method, right, scope in sorted(rows):
        cells = ("yes" if may_do(person, right) else "" for person in PEOPLE_RIGHTS)
        lines.append(f"| `{method} {address}` | {' | '.join(cells)} | {f'`{scope}`' if scope else ''} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(format_page(), end="")
