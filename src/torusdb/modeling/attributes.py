"""Attributes of entities: what stands in a class body, and what a class and its instances answer with.

`Attr[T]` is what users annotate with. When the class is made, each becomes an `Attribute[T]`, which is in the class's
namespace: `Customer.email` is an expression. An instance keeps its values in its own `__dict__`, which Python looks at
first, so that `customer.email` costs what any attribute costs. Only read-only and computed attributes stand before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NoReturn, TypeVar, overload

from torusdb.modeling.scalars import Codec, Wire
from torusdb.modeling.updates import ZERO, Place

if TYPE_CHECKING:
    from torusdb.modeling.codecs import StoredAs

T = TypeVar("T")


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final[Any] = _Missing()


class Attr(Generic[T]):
    """`name: Attr[str]` in the body of an entity: on the class an expression, on an instance a str.

    A type is str, int, float, Decimal, bool, bytes, date, datetime (with a time zone), UUID, an Enum or a Literal of
    texts or ints; a list, tuple or dict (by str) of these, or a set or frozenset of texts, numbers or bytes; a
    dataclass of them; `… | None` of any; or several that are stored differently, as `str | int`. What is none of these
    takes `attr(stored_as=StoredAs(…))`."""

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: type) -> Attribute[T]: ...
        @overload
        def __get__(self, instance: object, owner: type) -> T: ...
        def __get__(self, instance: object | None, owner: type) -> Any: ...

        def __set__(self, instance: object, value: T) -> None: ...


class Declared:
    """What `attr(...)` and its like leave in a class body until the class is made."""

    __slots__ = (
        "compute",
        "default",
        "default_factory",
        "hidden",
        "hide_expired",
        "in_key",
        "name",
        "needs",
        "read_only",
        "refers_to",
        "role",
        "stored_as",
    )

    def __init__(
        self,
        *,
        default: Any = MISSING,
        default_factory: Callable[[], Any] | None = None,
        name: str | None = None,
        hidden: bool = False,
        read_only: bool = False,
        in_key: bool = False,
        role: Literal["value", "version", "ttl"] = "value",
        hide_expired: bool = False,
        stored_as: StoredAs[Any, Any] | None = None,
        compute: Callable[[Any], Any] | None = None,
        needs: Sequence[str] = (),
        refers_to: type[Any] | str | None = None,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.name = name
        self.hidden = hidden
        self.read_only = read_only
        self.in_key = in_key
        self.role = role
        self.hide_expired = hide_expired
        self.stored_as = stored_as
        self.compute = compute
        self.needs = tuple(needs)
        self.refers_to = refers_to if isinstance(refers_to, str | None) else refers_to.__name__


def attr(
    *,
    default: Any = MISSING,
    default_factory: Callable[[], Any] | None = None,
    name: str | None = None,
    hidden: bool = False,
    read_only: bool = False,
    stored_as: StoredAs[Any, Any] | None = None,
    in_key: bool = False,
    refers_to: type[Any] | str | None = None,
) -> Any:
    """`name`: what it is called in the table, where that is something else. `hidden`: not shown by `repr`. `read_only`:
    set when the object is made, and never again, by no update either. `stored_as`: how its values become such as can
    be stored. `in_key`: not stored besides the table's key, and read from there (tables that were made without the kit
    often keep ids so); no filter can ask for it. `refers_to`: the entity whose key ends with this value, or its name,
    where neither a key nor the attribute's name says so: `manager: Attr[str] = attr(refers_to="Employee")`. Charts show
    it, and samples follow it; nothing is checked when the entity is written."""
    return Declared(
        default=default,
        default_factory=default_factory,
        name=name,
        hidden=hidden,
        read_only=read_only,
        stored_as=stored_as,
        in_key=in_key,
        refers_to=refers_to,
    )


def computed(
    compute: Callable[[Any], Any],
    *,
    needs: Sequence[str],
    name: str | None = None,
    hidden: bool = False,
    init: Literal[False] = False,
) -> Any:
    """An attribute that follows from others, those that `needs` names: `computed(lambda order: order.price *
    order.count, needs=["price", "count"])`. It is stored, can be queried and used in keys, and an update of what it
    needs writes it again. (`init` is for type checkers: the constructor doesn't take it.)"""
    return Declared(name=name, hidden=hidden, read_only=True, compute=compute, needs=needs)


def version(*, name: str | None = None, init: Literal[False] = False) -> Any:
    """How often the entity was written; 0 is never. A put, an update or a delete of an entity that someone else has
    written meanwhile fails with ConditionFailed. Objects begin with 0, and have the stored one once they are written
    or read; to make an object of a version that comes from elsewhere, set it. (`init` is for type checkers.)"""
    return Declared(default=0, name=name, role="version")


def ttl(
    *,
    default: Any = MISSING,
    default_factory: Callable[[], datetime] | None = None,
    name: str | None = None,
    hide_expired: bool = False,
) -> Any:
    """When the table may drop the item: a datetime, stored as the service's TTL wants it, in whole seconds.

    The service takes its time about it, up to some days. With `hide_expired` no read gives what has expired, from the
    second that is stored on (fractions are cut off): gets give None, and queries, scans and counts leave it out (and
    are charged for it). Writes see what is stored: an insert fails where something is, expired or not."""
    return Declared(default=default, default_factory=default_factory, name=name, role="ttl", hide_expired=hide_expired)


class Attribute(Place[T]):
    """An attribute of an entity, as an expression: what `Order.status` is. It is compared (`==`, `<`, `between`, `in_`,
    `begins_with`, `contains`, `exists`, `missing`, `size()`), which makes a `Condition`, and written to (`set`,
    `remove`, `add`, `append`, `add_to`, …), which makes an `Action` of an update."""

    __slots__ = ("_declared", "_field", "_owner", "_stored")

    def __init__(self, owner: str, field: str, codec: Codec, declared: Declared) -> None:
        self._stored = declared.name or field
        super().__init__((self._stored,), codec, f"{owner}.{field}")
        self._owner = owner
        self._field = field
        self._declared = declared

    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        raise AttributeError(f"This {self._owner} has no {self._field}")

    @property
    def _stores_none(self) -> bool:
        """A default stands in for what was never stored, so None is stored where the default is something else."""
        declared, absent = self._declared, self._codec.absent
        if absent is None or absent() is not None:
            return False
        return declared.default_factory is not None or (
            declared.default is not MISSING and declared.default is not None
        )

    def _clearing_verb(self) -> str:
        return "clear" if self._stores_none else "remove"

    def _numeric_start(self) -> Wire:
        default = self._declared.default
        wire = self._codec.encode(default) if default is not MISSING else None
        return wire or ZERO


class ReadOnlyAttribute(Attribute[T]):
    __slots__ = ()

    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        try:
            return instance.__dict__[self._field]
        except KeyError:
            return super().__get__(instance, owner)

    def __set__(self, instance: object, value: Any) -> NoReturn:
        raise AttributeError(f"{self._label} is read-only")


class ComputedAttribute(ReadOnlyAttribute[T]):
    __slots__ = ()

    def __get__(self, instance: object | None, owner: type) -> Any:
        compute = self._declared.compute
        assert compute is not None
        return self if instance is None else compute(instance)
