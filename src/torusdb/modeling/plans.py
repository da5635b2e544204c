"""Plans of single items: values that say what is to be read or written, and make the request for it.

`Ref` is an item by its key; `Get`, `BatchGet`, `Put`, `Update`, `Delete` and `Check` are what can be done with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from torusdb.modeling.context import AS_DECLARED, Context
from torusdb.modeling.errors import ModelError, PlanRefused
from torusdb.modeling.expressions import Comparison, Condition, Placeholders, all_of
from torusdb.modeling.model import EntityModel
from torusdb.modeling.reads import Explanation, check_condition
from torusdb.modeling.scalars import SCALARS, Item, shown
from torusdb.modeling.steps import Request
from torusdb.modeling.updates import Action, Place

if TYPE_CHECKING:
    from torusdb.modeling.entity import Entity
    from torusdb.modeling.table import Table

E = TypeVar("E", bound="Entity")

FIRST_VERSION: Final = 1


def model_of(kind: type[Any]) -> EntityModel[Any]:
    try:
        model: EntityModel[Any] | None = kind.__model__
    except AttributeError:
        name = kind.__name__ if isinstance(kind, type) else repr(kind)
        raise TypeError(f"{name} is no entity: make a class of it, class …(Entity, table=…)") from None
    if model is None:
        raise ModelError(f"{kind.__name__} is in no table: declare class {kind.__name__}(Entity, table=…)")
    return model


class Ref(Generic[E]):
    """An item by its key; it need not be there. `Ref(Order, customer="1", number=7)`."""

    __slots__ = ("key", "model", "values")

    def __init__(self, kind: type[E], /, **values: Any) -> None:
        self.model: EntityModel[E] = model_of(kind)
        fields = self.model.primary.fields
        if values.keys() != set(fields):
            raise PlanRefused(
                f"The key of {self.model.name} is made of {' and '.join(fields) or 'no attributes'}: "
                "give these, and no others"
            )
        for field in fields:
            if values[field] is None:
                raise PlanRefused(f"{self.model.name}.{field} is None, and is in the key")
        self.values = values
        self.key: Item = self.model.key_from(values)

    @classmethod
    def of(cls, entity: E) -> Ref[E]:
        """The item of an object."""
        return ref_of(entity)

    @classmethod
    def stored(cls, model: EntityModel[E], values: dict[str, Any], key: Item) -> Ref[E]:
        """Of a key as it is stored. `values`: what it says of the attributes that it was made of; of the attribute that
        a key is sharded by, it may say nothing."""
        ref = object.__new__(cls)
        ref.model, ref.values = model, values
        ref.key = {name: key[name] for name in model.table.key_names()}
        return ref

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and self.model is other.model and identity_of(self.key) == identity_of(other.key)

    def __hash__(self) -> int:
        return hash((self.model.type_name, identity_of(self.key)))

    def __repr__(self) -> str:
        return f"Ref({self.model.name}, {', '.join(f'{name}={value!r}' for name, value in self.values.items())})"


def identity_of(key: Item) -> tuple[Any, ...]:
    """The key as something that can be in a dict; numbers by their value, since the service writes them its own way."""
    return tuple(Decimal(wire["N"]) if "N" in wire else next(iter(wire.values())) for wire in key.values())


def ref_of(target: E | Ref[E]) -> Ref[E]:
    if isinstance(target, Ref):
        return target
    model = model_of(type(target))
    values = model.values(target)
    return Ref(type(target), **{field: values[field] for field in model.primary.fields})


class Get(Generic[E]):
    """`Get(Customer, id="1")`: the entity with this key, or None."""

    operation = "GetItem"

    def __init__(self, kind: type[E], /, **values: Any) -> None:
        self.ref = Ref(kind, **values)
        self.table: Table = self.ref.model.table
        self.is_consistent = False

    def consistent(self) -> Get[E]:
        """Sees all that was written before."""
        changed = copy(self)
        changed.is_consistent = True
        return changed

    def requests(self, context: Context = AS_DECLARED) -> list[Request]:
        parameters: dict[str, Any] = {"TableName": context.table_name(self.table), "Key": self.ref.key}
        if self.is_consistent:
            parameters["ConsistentRead"] = True
        return [Request("get_item", parameters)]

    def explain(self) -> Explanation:
        return _explained(self.operation, self.ref, "one item")


class BatchGet(Generic[E]):
    """`BatchGet([Ref(Customer, id="1"), …])`: the entities in the order of the keys; None for each that isn't there."""

    operation = "BatchGetItem"

    def __init__(self, refs: Sequence[Ref[E]], *, consistent: bool = False) -> None:
        self.refs = list(refs)
        self.is_consistent = consistent
        tables = {ref.model.table.name: ref.model.table for ref in self.refs}
        if len(tables) > 1:
            raise PlanRefused("A BatchGet is of one table")
        self.table: Table | None = next(iter(tables.values()), None)

    def explain(self) -> Explanation:
        kinds = sorted({ref.model.name for ref in self.refs})
        name = self.table.name if self.table else ""
        return Explanation(
            self.operation, name, None, None, None, 1, f"{len(self.refs)} of {' and '.join(kinds)} by key"
        )


class Write(Generic[E]):
    """What puts, updates, deletes and checks have in common. `method`: the client's; `member`: what it is called within
    a transaction."""

    operation: str
    method: str
    member: str

    new: bool = False
    """Whether it asks that there is none yet."""
    ref: Ref[E]
    entity: E | None
    """The object that the write is of, where it is of one."""

    def parameters(self, context: Context) -> dict[str, Any]:
        raise NotImplementedError

    def requests(self, context: Context = AS_DECLARED) -> list[Request]:
        parameters = self.parameters(context)
        if "ConditionExpression" in parameters:
            parameters["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return [Request(self.method, parameters)]

    def explain(self) -> Explanation:
        return _explained(self.operation, self.ref, "one item, written")

    @property
    def next_version(self) -> int | None:
        """What the version of the object is once this is done; None where it has none."""
        version = self.ref.model.version
        if version is None or self.entity is None:
            return None
        current: int = getattr(self.entity, version._field)
        return current + 1

    def done(self) -> None:
        """Called when it is: the object's version is the stored one."""
        number = self.next_version
        if number is not None and self.entity is not None:
            version = self.ref.model.version
            assert version is not None
            self.entity.__dict__[version._field] = number

    def _checked(self, when: Condition | None) -> Condition | None:
        if when is not None:
            check_condition([self.ref.model], when)
        return when

    def _as_read(self) -> Condition | None:
        """That nobody else has written the object since it was read."""
        version = self.ref.model.version
        if version is None or self.entity is None:
            return None
        current: int = getattr(self.entity, version._field)
        return self._absence() if current == 0 else Comparison(version, "=", current)

    def _absence(self) -> Condition:
        return self._key_place().missing()

    def _presence(self) -> Condition:
        return self._key_place().exists()

    def _key_place(self) -> Place[Any]:
        name = self.ref.model.table.partition[0].name
        return Place((name,), SCALARS[str], name)

    def _base(self, context: Context, placeholders: Placeholders, condition: Condition | None) -> dict[str, Any]:
        parameters: dict[str, Any] = {"TableName": context.table_name(self.ref.model.table)}
        if condition is not None:
            parameters["ConditionExpression"] = condition.text(placeholders)
        placeholders.add_to(parameters)
        return parameters


class Put(Write[E]):
    """Writes the whole entity, in the place of whatever was there; with `new`, only where nothing is (an insert)."""

    operation = "PutItem"
    method = "put_item"
    member = "Put"

    def __init__(self, entity: E, when: Condition | None = None, *, new: bool = False) -> None:
        self.entity: E = entity
        self.when = self._checked(when)
        self.new = new
        self.item = self._item()

    @property
    def ref(self) -> Ref[E]:  # type: ignore[override]  # made when it is asked for: a put needs none
        return ref_of(self.entity)

    def _item(self) -> Item:
        model = model_of(type(self.entity))
        item = model.encode(self.entity)
        version = model.version
        if version is not None:
            item[version._stored] = {"N": str(getattr(self.entity, version._field) + 1)}
        return item

    def parameters(self, context: Context) -> dict[str, Any]:
        model = model_of(type(self.entity))
        if self.when is None and not self.new and model.version is None:
            return {"TableName": context.table_name(model.table), "Item": self.item}
        condition = all_of([self._as_read(), self._absence() if self.new else None, self.when])
        return {**self._base(context, Placeholders(), condition), "Item": self.item}


class Delete(Write[E]):
    """Removes an entity; one that isn't there is no error, unless `when` says otherwise."""

    operation = "DeleteItem"
    method = "delete_item"
    member = "Delete"

    def __init__(self, target: E | Ref[E], when: Condition | None = None) -> None:
        self.ref = ref_of(target)
        self.entity = None if isinstance(target, Ref) else target
        self.when = self._checked(when)

    @property
    def next_version(self) -> None:
        return None

    def parameters(self, context: Context) -> dict[str, Any]:
        condition = all_of([self._as_read(), self.when])
        return {**self._base(context, Placeholders(), condition), "Key": self.ref.key}


class Check(Write[E]):
    """That a condition holds for an entity, within a transaction that writes others."""

    operation = "ConditionCheck"
    method = "transact_write_items"
    member = "ConditionCheck"

    def __init__(self, target: E | Ref[E], when: Condition) -> None:
        self.ref = ref_of(target)
        self.entity = None
        self.when = self._checked(when)

    def parameters(self, context: Context) -> dict[str, Any]:
        return {**self._base(context, Placeholders(), self.when), "Key": self.ref.key}


class Update(Write[E]):
    """Changes some attributes of an entity that is there: `Update(order, Order.total.set(total))`.

    What changes in the keys of indexes is written with it. What such a key needs besides comes from the actions, from
    the item's key, or from the object, if the update is of one; then it must still be stored so. A `Ref` has nothing
    else."""

    operation = "UpdateItem"
    method = "update_item"
    member = "Update"

    def __init__(self, target: E | Ref[E], *actions: Action, when: Condition | None = None) -> None:
        from torusdb.modeling.rewriting import consequences

        self.ref = ref_of(target)
        self.entity = None if isinstance(target, Ref) else target
        self.actions = actions
        self.when = self._checked(when)
        self.assignments, self.relied_on = consequences(self.ref, self.entity, actions)

    def parameters(self, context: Context) -> dict[str, Any]:
        from torusdb.modeling.updates import update_text

        placeholders = Placeholders()
        text = update_text(self._counted_actions(), placeholders, self.assignments)
        # With a version the object is known to be as it was read; else that is asked of what the keys are made from.
        as_read = self._as_read()
        relied_on = self.relied_on if as_read is None else [as_read]
        condition = all_of([self._presence(), *relied_on, self.when])
        return {**self._base(context, placeholders, condition), "Key": self.ref.key, "UpdateExpression": text}

    def _counted_actions(self) -> list[Action]:
        """With what the version does."""
        version = self.ref.model.version
        return [*self.actions] if version is None else [*self.actions, Action(version, "add", 1)]

    def requests(self, context: Context = AS_DECLARED) -> list[Request]:
        (request,) = super().requests(context)
        request.parameters["ReturnValues"] = "ALL_NEW"
        return [request]


class ReturningOld(Generic[E]):
    """A write that gives the entity as it was before, or None where there was none:
    `store.run(ReturningOld(Delete(Ref(Order, customer="1", number=7))))`."""

    def __init__(self, write: Put[E] | Update[E] | Delete[E]) -> None:
        self.write = write

    def requests(self, context: Context = AS_DECLARED) -> list[Request]:
        (request,) = self.write.requests(context)
        request.parameters["ReturnValues"] = "ALL_OLD"
        return [request]

    def explain(self) -> Explanation:
        return self.write.explain()


def _explained(operation: str, ref: Ref[Any], reads: str) -> Explanation:
    key = " AND ".join(f"{name} = {shown(wire)}" for name, wire in ref.key.items())
    return Explanation(operation, ref.model.table.name, None, key, None, 1, f"{reads}: {ref.model.name}")
