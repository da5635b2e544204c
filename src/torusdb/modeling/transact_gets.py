"""Several items of one moment, in one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from torusdb.modeling.context import AS_DECLARED, Context
from torusdb.modeling.errors import PlanRefused
from torusdb.modeling.expiry import is_hidden
from torusdb.modeling.plans import Get, Ref
from torusdb.modeling.reads import Explanation
from torusdb.modeling.steps import Request, Work
from torusdb.modeling.transactions import TRANSACTION_ACTIONS_MAX, raise_failure

if TYPE_CHECKING:
    from torusdb.modeling.entity import Entity

T = TypeVar("T")
A = TypeVar("A", bound="Entity")
B = TypeVar("B", bound="Entity")
C = TypeVar("C", bound="Entity")
D = TypeVar("D", bound="Entity")


class TransactGet(Generic[T]):
    """`TransactGet(Ref(Customer, id="1"), Ref(Product, code="b"))`: the entities as they were together at one moment,
    in the order of the keys; None for each that isn't there. Keys may be of several tables: see
    `Store.transact_get`."""

    operation = "TransactGetItems"

    @overload
    def __init__(self: TransactGet[tuple[A | None]], a: Ref[A], /) -> None: ...
    @overload
    def __init__(self: TransactGet[tuple[A | None, B | None]], a: Ref[A], b: Ref[B], /) -> None: ...
    @overload
    def __init__(
        self: TransactGet[tuple[A | None, B | None, C | None]], a: Ref[A], b: Ref[B], c: Ref[C], /
    ) -> None: ...
    @overload
    def __init__(
        self: TransactGet[tuple[A | None, B | None, C | None, D | None]], a: Ref[A], b: Ref[B], c: Ref[C], d: Ref[D], /
    ) -> None: ...
    @overload
    def __init__(self: TransactGet[tuple[A | None, ...]], *refs: Ref[A]) -> None: ...
    @overload
    def __init__(self: TransactGet[tuple[Any, ...]], *refs: Ref[Any]) -> None: ...
    def __init__(self, *refs: Ref[Any]) -> None:
        if not 1 <= len(refs) <= TRANSACTION_ACTIONS_MAX:
            raise PlanRefused(f"A TransactGet is of 1 to {TRANSACTION_ACTIONS_MAX} items, not {len(refs)}")
        self.refs = refs

    def requests(self, context: Context = AS_DECLARED) -> list[Request]:
        members = [{"Get": {"TableName": context.table_name(ref.model.table), "Key": ref.key}} for ref in self.refs]
        return [Request("transact_get_items", {"TransactItems": members})]

    def explain(self) -> Explanation:
        kinds = sorted({ref.model.name for ref in self.refs})
        tables = dict.fromkeys(ref.model.table.name for ref in self.refs)
        what = f"{len(self.refs)} of {' and '.join(kinds)} by key, of one moment"
        return Explanation(self.operation, " and ".join(tables), None, None, None, 1, what)


def transact_get_work(plan: TransactGet[T], context: Context) -> Work[T]:
    try:
        response = yield plan.requests(context)[0]
    except Exception as error:
        raise_failure(error, [(Get.operation, ref, False) for ref in plan.refs])
    found = []
    for ref, answer in zip(plan.refs, response["Responses"], strict=True):
        item = answer.get("Item")
        found.append(None if not item or is_hidden(ref.model, item, context) else ref.model.decode(item))
    return tuple(found)  # type: ignore[return-value]  # T is the tuple of what the refs are of
