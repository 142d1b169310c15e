"""Many new rows at once, as a first list brings them: one statement for all, where bulk_create writes a new one for every few rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, connection, connections, models

_AS_THEY_ARE: Final = (
    models.CharField,
    models.TextField,
    models.IntegerField,
    models.BooleanField,
    models.BinaryField,
)


def insert_missing(model: type[models.Model], rows: Sequence[models.Model]) -> None:
    """Insert the rows that break no constraint, as ``bulk_create(rows, ignore_conflicts=True)`` does. Keys are not handed back."""
    if not rows:
        return
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    sql = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608  # names of our own tables
    prepared = [_column(field, [getattr(row, field.attname) for row in rows]) for field in fields]
    with connection.cursor() as cursor:
        cursor.executemany(sql, list(zip(*prepared, strict=True)))


def _column(field: models.Field[Any, Any], values: list[Any]) -> list[Any]:
    """Give the values as the database's driver takes them."""
    if isinstance(field, _AS_THEY_ARE):
        return values
    database = connections[DEFAULT_DB_ALIAS]
    if isinstance(field, models.DateTimeField):
        moments = {value: field.get_db_prep_save(value, database) for value in set(values)}
        return [moments[value] for value in values]
    return [field.get_db_prep_save(value, database) for value in values]
