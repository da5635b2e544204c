"""Access patterns: named functions that make plans, and are tried when they are declared.

A pattern is called once with sample values made from its annotations, so that one that cannot be compiled, or would
read more than it says, fails where it stands and not in production.

Called, a pattern makes the plan. In a class that is mixed into a store it is a method of the store as well, which runs
the plan:

    class ShopReads:
        @pattern("A customer's orders")
        @staticmethod
        def orders_of(customer: str) -> Query[Order]:
            return Order.key.query(Order.customer == customer)

    class Shop(ShopReads, Store): ...
    class AsyncShop(ShopReads, AsyncStore): ...

`Shop(shop, client).orders_of("1")` gives results, and `ShopReads.orders_of("1")` the plan. (The pattern takes no
`self`, since a plan is the same for all stores: `@staticmethod` says so to type checkers.) A pattern of a module
becomes such a method by its name in the class: `orders_by_status = orders_by_status`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, ParamSpec, TypeVar, get_args, get_origin, overload

from torusdb.modeling.errors import ModelError, ModelingError, PlanRefused
from torusdb.modeling.plans import BatchGet, Get
from torusdb.modeling.queries import Count, Query
from torusdb.modeling.reads import Explanation, Read
from torusdb.modeling.scalars import name_of
from torusdb.modeling.scans import Scan
from torusdb.modeling.table import Table

if TYPE_CHECKING:
    from typing import Self

    from torusdb.modeling.entity import Entity
    from torusdb.modeling.results import AsyncResults, Results
    from torusdb.modeling.store import AsyncStore, Store

P = ParamSpec("P")
R_co = TypeVar("R_co", bound=Get[Any] | BatchGet[Any] | Read[Any] | Count[Any], covariant=True)
T = TypeVar("T")
E = TypeVar("E", bound="Entity")

SAMPLES: Final[dict[Any, Any]] = {
    str: "sample",
    int: 1,
    float: 1.0,
    Decimal: Decimal(1),
    bool: True,
    bytes: b"sample",
    date: date(2024, 1, 1),
    datetime: datetime(2024, 1, 1, tzinfo=UTC),
}


class Pattern(Generic[P, R_co]):
    """Called, it makes the plan."""

    def __init__(self, make: Callable[P, R_co], description: str, allow_scan: bool, filter_keeps: float | None) -> None:
        self.make = make.__func__ if isinstance(make, staticmethod) else make
        self.name = self.make.__name__
        self.description = description
        self.filter_keeps = filter_keeps
        self.__doc__ = description
        plan = self.sample_plan()
        self.table = self._checked(plan, allow_scan)
        self.operation: str = plan.query.operation if isinstance(plan, Count) else plan.operation
        if self.name in self.table.patterns:
            raise ModelError(f"The table {self.table.name} has the pattern {self.name} twice")
        self.table.patterns[self.name] = self

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        return self.make(*args, **kwargs)

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self: Pattern[P, Read[T]], instance: Store, owner: type) -> Callable[P, Results[T]]: ...
    @overload
    def __get__(self: Pattern[P, Get[E]], instance: Store, owner: type) -> Callable[P, E | None]: ...
    @overload
    def __get__(self: Pattern[P, BatchGet[E]], instance: Store, owner: type) -> Callable[P, list[E | None]]: ...
    @overload
    def __get__(self: Pattern[P, Count[Any]], instance: Store, owner: type) -> Callable[P, int]: ...
    @overload
    def __get__(self: Pattern[P, Read[T]], instance: AsyncStore, owner: type) -> Callable[P, AsyncResults[T]]: ...
    @overload
    def __get__(self: Pattern[P, Get[E]], instance: AsyncStore, owner: type) -> Callable[P, Awaitable[E | None]]: ...
    @overload
    def __get__(
        self: Pattern[P, BatchGet[E]], instance: AsyncStore, owner: type
    ) -> Callable[P, Awaitable[list[E | None]]]: ...
    @overload
    def __get__(self: Pattern[P, Count[Any]], instance: AsyncStore, owner: type) -> Callable[P, Awaitable[int]]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        """Of a class, the pattern; of a store, a function that runs it."""
        if instance is None:
            return self
        run = getattr(instance, "run", None)
        if run is None:
            raise PlanRefused(f"{owner.__name__}.{self.name} is run by a store: mix {owner.__name__} into one")

        def run_pattern(*args: P.args, **kwargs: P.kwargs) -> Any:
            return run(self.make(*args, **kwargs))

        run_pattern.__name__, run_pattern.__doc__ = self.name, self.description
        return run_pattern

    @property
    def explanation(self) -> Explanation:
        """What the plan for the samples does."""
        return self.sample_plan().explain()

    def __repr__(self) -> str:
        return f"<pattern {self.name}: {self.description}>"

    def sample_plan(self) -> R_co:
        """The plan that it makes of one value of each parameter's type, always the same."""
        code = self.make.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        samples = {name: self._sample_of(name) for name in names}
        try:
            plan: R_co = self.make(**samples)  # type: ignore[call-arg]
        except ModelingError as error:
            raise ModelError(f"The pattern {self.name} cannot be made: {error}") from error
        if not isinstance(plan, Get | BatchGet | Read | Count):
            raise ModelError(f"The pattern {self.name} makes {plan!r}, which is no Get, BatchGet, Query or Scan")
        return plan

    def _sample_of(self, name: str) -> Any:
        annotation = self.make.__annotations__.get(name)
        if annotation is None:
            raise ModelError(f"The pattern {self.name} takes {name}, which has no type")
        if isinstance(annotation, str):
            try:
                annotation = eval(annotation, self.make.__globals__)  # noqa: S307 - the user's own source
            except NameError as error:
                raise ModelError(
                    f"The pattern {self.name} takes {name}, whose type has {error.name} in it, which is not known there"
                ) from None
        return sample(annotation, f"The pattern {self.name} takes {name}, which")

    def _checked(self, plan: Get[Any] | BatchGet[Any] | Read[Any] | Count[Any], allow_scan: bool) -> Table:
        read = plan.query if isinstance(plan, Count) else plan
        if isinstance(read, Scan) and not allow_scan:
            raise ModelError(
                f"The pattern {self.name} reads the whole table {read.table.name}: say allow_scan=True if that is meant"
            )
        if isinstance(read, Query) and read.condition is not None and self.filter_keeps is None:
            raise ModelError(
                f"The pattern {self.name} filters what it has read: say how much of it is kept, as in filter_keeps=0.3"
            )
        if read.table is None:
            raise ModelError(f"The pattern {self.name} makes a BatchGet of no keys from its samples")
        return read.table


def pattern(
    description: str, *, allow_scan: bool = False, filter_keeps: float | None = None
) -> Callable[[Callable[P, R_co]], Pattern[P, R_co]]:
    """Declares an access pattern, in a module or in a class. `filter_keeps`: the part of what it reads that its filter
    keeps, 0.3 for three in ten; a pattern with a filter has to say so, as one that reads the whole table has to say
    `allow_scan`."""
    if not isinstance(description, str):
        raise TypeError('A pattern says what it reads: write @pattern("Orders of a customer, newest first")')
    if filter_keeps is not None and not 0 < filter_keeps <= 1:
        raise ModelError(f"filter_keeps is the part that is kept, above 0 and up to 1, not {filter_keeps}")

    def declare(make: Callable[P, R_co]) -> Pattern[P, R_co]:
        return Pattern(make, description, allow_scan, filter_keeps)

    return declare


def sample(kind: Any, where: str) -> Any:
    """A value of a type, always the same."""
    if kind in SAMPLES:
        return SAMPLES[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return arguments[0]
    if origin in {list, set, frozenset, tuple} or (origin is not None and origin.__module__ == "collections.abc"):
        made = [sample(arguments[0], where)]
        return made if not isinstance(origin, type) or origin.__module__ == "collections.abc" else origin(made)
    if arguments and origin is not dict:  # a Union
        return sample(next(each for each in arguments if each is not type(None)), where)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    if isinstance(kind, type) and kind.__module__ == "uuid":
        return kind(int=0)
    raise ModelError(f"{where} is of the type {name_of(kind)}, of which no sample can be made")
