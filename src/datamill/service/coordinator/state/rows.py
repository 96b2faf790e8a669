"""Many rows in one statement, on SQLite and PostgreSQL alike.

Where hundreds of trials a second pass, a statement a row is what takes the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from django.db import connection, models

Row = Sequence[Any]
#: Rows of one PostgreSQL statement: beyond some hundreds a longer one gains nothing.
_ROWS_A_STATEMENT = 1000
#: Values of one list in a condition.
_VALUES_A_LIST = 5000


def insert_rows(model: type[models.Model], columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Insert rows, given as their columns' values, in bounded memory.

    Raises:
        django.db.IntegrityError: when a constraint forbids one of them.
    """
    table, names = model._meta.db_table, ", ".join(f'"{name}"' for name in columns)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with connection.wrap_database_errors, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            return
        marks = ", ".join(["%s"] * len(columns))
        source = iter(rows)
        while chunk := list(islice(source, _VALUES_A_LIST)):
            cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", chunk)


def update_rows(
    model: type[models.Model],
    columns: Sequence[str],
    rows: Iterable[Row],
    *,
    also: str = "",
) -> None:
    """Give the rows of a table new values; each row is its primary key, and then the columns' values.

    `also` is SQL that assigns what follows from the old row, such as `n = n + 1`.

    Raises:
        django.db.IntegrityError: when a constraint or a lifecycle forbids a change.
    """
    table, key = model._meta.db_table, _find_key(model)
    rest = [also] if also else []
    if connection.vendor == "postgresql":
        types = [_name_type(model, name) for name in (key, *columns)]
        arrays = ", ".join(f"%b::{kind}[]" for kind in types)
        names = ", ".join(f"c{i}" for i in range(len(types)))
        values = [f'"{name}" = v.c{i}' for i, name in enumerate(columns, start=1)]
        sql = (
            f"UPDATE {table} SET {', '.join(values + rest)} FROM unnest({arrays}) AS v({names}) "
            f"WHERE {table}.{key} = v.c0"
        )
        # Here: a coordinator with SQLite does not load it.
        from psycopg import Cursor

        source = iter(rows)
        # Django's own cursor writes values into the statement's text: slow for records of some kilobytes.
        with connection.wrap_database_errors, Cursor(connection.connection) as cursor:
            while chunk := list(islice(source, _ROWS_A_STATEMENT)):
                cursor.execute(sql, [list(column) for column in zip(*chunk, strict=True)])
        return
    assignments = ", ".join([f'"{name}" = %s' for name in columns] + rest)
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {table} SET {assignments} WHERE {key} = %s", [(*row[1:], row[0]) for row in rows]
        )


def select_rows(sql: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of a query; `{list}` in it stands for a list of all values, which may be many.

    A query with such a list must give, for any division of the values, the same rows in all.
    """
    with connection.cursor() as cursor:
        if "{list}" not in sql:
            cursor.execute(sql, list(values))
            return list(cursor.fetchall())
        found: list[tuple[Any, ...]] = []
        source = iter(values)
        while chunk := list(islice(source, _VALUES_A_LIST)):
            cursor.execute(sql.replace("{list}", f"({', '.join(['%s'] * len(chunk))})"), chunk)
            found.extend(cursor.fetchall())
        return found


def select_by_index(sql: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of a query of which each join looks for few rows by their key, as `select_rows` does.

    PostgreSQL expects a hundred times the rows that a recursion has, and would read whole tables for them.
    """
    if connection.vendor != "postgresql":
        return select_rows(sql, values)
    _allow_scanning("off")
    rows = select_rows(sql, values)
    # What fails undoes this with all else that its transaction did.
    _allow_scanning("on")
    return rows


def _allow_scanning(state: str) -> None:
    select_rows(
        "SELECT set_config('enable_hashjoin', %s, false), set_config('enable_mergejoin', %s, false)",
        [state, state],
    )


def execute(sql: str, values: Sequence[Any] = ()) -> int:
    """Execute a statement and return how many rows it changed."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return max(int(cursor.rowcount), 0)


def execute_for(sql: str, values: Iterable[Any], before: Sequence[Any] = ()) -> int:
    """Execute a statement with `{list}` for all values; `before` are those of marks in front of the list."""
    changed, source = 0, iter(values)
    while chunk := list(islice(source, _VALUES_A_LIST)):
        marks = f"({', '.join(['%s'] * len(chunk))})"
        changed += execute(sql.replace("{list}", marks), [*before, *chunk])
    return changed


def _find_key(model: type[models.Model]) -> str:
    """Return the column of a table's primary key."""
    return next(str(field.column) for field in model._meta.concrete_fields if field.primary_key)


def _name_type(model: type[models.Model], column: str) -> str:
    """Return PostgreSQL's name of a column's type, without a length."""
    field: Any = next(item for item in model._meta.concrete_fields if item.column == column)
    while isinstance(field, models.ForeignKey):
        field = field.target_field
    return str(field.db_type(connection)).split("(")[0]
