"""The work of single reads and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from torusdb.modeling.context import Context
from torusdb.modeling.errors import ConditionFailed
from torusdb.modeling.expiry import is_hidden
from torusdb.modeling.plans import Delete, Get, Put, ReturningOld, Update, Write
from torusdb.modeling.scalars import Item
from torusdb.modeling.steps import Request, Work, error_code

if TYPE_CHECKING:
    from torusdb.modeling.entity import Entity
    from torusdb.modeling.model import EntityModel

E = TypeVar("E", bound="Entity")

CONDITION_FAILED: Final = "ConditionalCheckFailedException"


def get_work(get: Get[E], context: Context) -> Work[E | None]:
    response = yield get.requests(context)[0]
    item, model = response.get("Item"), get.ref.model
    return None if item is None or is_hidden(model, item, context) else model.decode(item)


def put_work(put: Put[E], context: Context) -> Work[None]:
    yield from _write(put, put.requests(context))


def delete_work(delete: Delete[E], context: Context) -> Work[None]:
    yield from _write(delete, delete.requests(context))


def update_work(update: Update[E], context: Context) -> Work[E]:
    """Gives the entity as it is then."""
    response = yield from _write(update, update.requests(context))
    return update.ref.model.decode(response["Attributes"])


def returning_old_work(plan: ReturningOld[E], context: Context) -> Work[E | None]:
    response = yield from _write(plan.write, plan.requests(context))
    item = response.get("Attributes")
    return plan.write.ref.model.decode(item) if item else None


def _write(write: Write[Any], requests: list[Request]) -> Work[dict[str, Any]]:
    (request,) = requests
    try:
        response: dict[str, Any] = yield request
    except Exception as error:
        if error_code(error) != CONDITION_FAILED:
            raise
        item = error.response.get("Item")  # type: ignore[attr-defined]  # error_code has found it
        raise _condition_failed(write, item) from error
    write.done()
    return response


def _condition_failed(write: Write[Any], item: Item | None) -> ConditionFailed:
    message = f"{write.operation} of {write.ref!r}: {what_was_found(item, new=write.new)}"
    return ConditionFailed(message, stored_entity(write.ref.model, item), item)


def what_was_found(item: Item | None, *, new: bool) -> str:
    """Where the condition of a write did not hold. `new`: it asked that there is none yet."""
    if not item:
        return "there is none"
    return "there is one already" if new else "it is not as the condition wants it"


def stored_entity(model: EntityModel[Any], item: Item | None) -> Any:
    return model.decode(item) if item and model.is_own(item) else None
