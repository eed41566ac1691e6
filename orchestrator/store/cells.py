"""The kinds of a column, held when a row is read.

SQLite keeps in a column whatever it is given, and a damaged page gives anything: a cell of another kind than its
column's is a StoreError that names it, and not some error far from here.
"""

from __future__ import annotations

from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from orchestrator.errors import StoreError


class _Held(TypeDecorator[Any]):
    """A type whose values are looked at when they come back."""

    impl: type[TypeEngine[Any]] | TypeEngine[Any] = sa.Text
    cache_ok = True
    holds: ClassVar[tuple[type, ...]] = ()

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Nothing is changed on the way in."""
        return value

    def process_literal_param(self, value: Any, dialect: Dialect) -> str:
        """As the type below it writes it."""
        return str(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """The value. Raises StoreError for one of another kind."""
        if value is None or type(value) in self.holds:
            return value
        raise StoreError(f"a {type(self).__name__.lower()} column holds {type(value).__name__} {str(value)[:40]!r}")

    @property
    def python_type(self) -> type:
        """What its values are in Python."""
        return self.holds[0]


class Text(_Held):
    """Text of any length."""

    impl = sa.Text
    cache_ok = True
    holds = (str,)


class Integer(_Held):
    """A whole number of 32 bits."""

    impl = sa.Integer
    cache_ok = True
    holds = (int,)


class BigInteger(_Held):
    """A whole number of 64 bits."""

    impl = sa.BigInteger
    cache_ok = True
    holds = (int,)


class Double(_Held):
    """A floating point number."""

    impl = sa.Double
    cache_ok = True
    holds = (float, int)


class Boolean(_Held):
    """Yes or no."""

    impl = sa.Boolean
    cache_ok = True
    holds = (bool,)
