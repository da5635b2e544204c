"""Sample objects of a design's entities, which belong together: an order's customer is one of the customers.

    samples = Samples(
        Customer(id="1", name="Ann"),
        Order(customer="1", number=7, …),
    )

beside the model gives them; of the entities that it has none of, some are made up. Items are made of objects as a
store does it, so that what is shown is what the table will hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from torusdb.modeling.design.relations import Relation, entity_tag, name_tag, relations_of, type_of
from torusdb.modeling.design.sample_values import Place, value_for
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import InvalidValue, ModelError
from torusdb.modeling.model import EntityModel
from torusdb.modeling.scalars import Item
from torusdb.modeling.table import Table

if TYPE_CHECKING:
    from torusdb.modeling.design.loading import Design

E = TypeVar("E", bound=Entity)

SAMPLES_OF_EACH: Final = 4
SAMPLES_MAX: Final = 100
"""Of an entity; a chart of more is for nobody to read."""
CHILDREN_TOGETHER: Final = 3
"""So many go to one parent before the next has one: a collection should look like one."""
TRIES_FOR_EACH: Final = 8
"""Made-up objects can have the key of another; so many are made for each that is wanted."""
IDS_OF_AN_ENTITY: Final = 100
"""Customers are 101, 102, …, orders 201, 202, …: an id tells whose it is."""


class Samples:
    """Objects of entities, in their order."""

    def __init__(self, *entities: Entity) -> None:
        self._by_kind: dict[type[Entity], list[Entity]] = {}
        keys: dict[tuple[str, str], Entity] = {}
        for each in entities:
            model = _model_of(each)
            key = (model.table.name, repr(_item_of(model, each, given=True)[1]))
            if key in keys:
                raise ModelError(f"Samples have one key twice: {keys[key]!r} and {each!r}")
            keys[key] = each
            self._by_kind.setdefault(type(each), []).append(each)

    def __iter__(self) -> Iterator[Entity]:
        for entities in self._by_kind.values():
            yield from entities

    def __bool__(self) -> bool:
        return bool(self._by_kind)

    def __repr__(self) -> str:
        return f"Samples({', '.join(map(repr, self))})"

    def of(self, kind: type[E]) -> list[E]:
        return list(self._by_kind.get(kind, ()))  # type: ignore[arg-type]

    def items(self, table: Table) -> list[tuple[EntityModel[Any], Item]]:
        """What the table holds of them."""
        return [(each.__model__, each.__model__.encode(each)) for each in self if each.__model__.table is table]


def joined_samples(samples: Sequence[Samples]) -> Samples:
    return Samples(*(each for some in samples for each in some))


def samples_of(design: Design, of_each: int = SAMPLES_OF_EACH) -> Samples:
    """Objects of all entities: those that the design's author gives, and `of_each` of every other. Always the same."""
    if not 1 <= of_each <= SAMPLES_MAX:
        raise ModelError(f"There can be 1 to {SAMPLES_MAX} samples of each entity, not {of_each}")
    maker = _Maker(design, of_each)
    return Samples(*(each for model in maker.models for each in maker.made[model]))


class _Maker:
    """`made`: the objects of each entity, parents before their children."""

    def __init__(self, design: Design, of_each: int) -> None:
        self.models = [model for table in design.tables for model in table.entities.values()]
        self.of_each = of_each
        self.relations = {model: [] for model in self.models}  # type: dict[EntityModel[Any], list[Relation]]
        for relation in relations_of(design.tables):
            self.relations[relation.child].append(relation)
        for relations in self.relations.values():
            relations.sort(key=lambda each: (-len(each.fields), each.optional))
        self.made: dict[EntityModel[Any], list[Any]] = {}
        self.keys: dict[tuple[str, str], Any] = {}
        for model in self.models:
            given = design.samples.of(model.kind)
            if given:
                self.made[model] = given
                for each in given:
                    self._take(model, each)
        for model in self.models:
            self._make(model, ())

    def _make(self, model: EntityModel[Any], waiting: tuple[EntityModel[Any], ...]) -> None:
        """`waiting`: the children for which this is made; where two refer to each other, one has to do without."""
        if model in self.made or model in waiting:
            return
        for relation in self.relations[model]:
            if relation.parent is not model:
                self._make(relation.parent, (*waiting, model))
        if model in self.made:
            return
        wanted = self._wanted(model)
        objects = self.made[model] = []
        for number in range(wanted * TRIES_FOR_EACH):
            made = self._object(model, number)
            if self._take(model, made):
                objects.append(made)
            if len(objects) == wanted:
                return

    def _wanted(self, model: EntityModel[Any]) -> int:
        if not model.primary.fields:
            return 1
        parents = [
            len(self.made.get(each.parent, ())) for each in self.relations[model] if not each.many and not each.optional
        ]
        return min([self.of_each, *(count for count in parents if count)])

    def _take(self, model: EntityModel[Any], entity: Any) -> bool:
        key = (model.table.name, repr(model.key_of(entity)))
        return self.keys.setdefault(key, entity) is entity

    def _object(self, model: EntityModel[Any], number: int) -> Any:
        """With the values as they come; if a key cannot take one of them, with plainer ones."""
        for plain in (False, True):
            try:
                entity = model.kind(**self._values(model, number, plain))
                _item_of(model, entity)
            except Exception as error:
                if plain or not isinstance(error, InvalidValue):
                    raise ModelError(
                        f"No sample of {model.name} can be made ({error}): give some, as in "
                        f"samples = Samples({model.name}(…))"
                    ) from error
            else:
                return entity
        raise AssertionError

    def _values(self, model: EntityModel[Any], number: int, plain: bool) -> dict[str, Any]:
        values = self._references(model, number)
        for name in model.attributes:
            if name in model.parameters and name not in values:
                values[name] = self._value(model, name, number, plain=plain)
        return values

    def _value(self, model: EntityModel[Any], name: str, number: int, *, plain: bool) -> Any:
        codec, declared = model.codecs[name], model.attributes[name]._declared
        if declared.role == "version":
            return 1
        if codec.absent is not None and number % 3 == 1 + list(model.attributes).index(name) % 2:
            return codec.absent()  # not of the first object, nor all of one
        if isinstance(declared.default, str) and declared.default and not isinstance(declared.default, Enum):
            return declared.default
        if codec.plain is str and name in model.primary.fields and not name_tag(name):
            return str((self.models.index(model) + 1) * IDS_OF_AN_ENTITY + number + 1)
        digits, decimals = _room(model, name)
        return value_for(codec, Place(entity_tag(model), name, digits, decimals, plain), number)

    def _references(self, model: EntityModel[Any], number: int) -> dict[str, Any]:
        """What refers to the parents, and what is a copy of theirs (`customer_name`)."""
        values: dict[str, Any] = {}
        for place, relation in enumerate(self.relations[model]):
            parents = [each for each in self._parents(relation) if _agree(relation, values, each)]
            first = relation.parent is model and not parents  # of its kind: it has no parent
            if relation.fields.keys() <= values.keys() or not (parents or first):
                continue
            if relation.optional and (first or number % 3 == 1 + place % 2):
                absent = {mine: model.codecs[mine].absent for mine in relation.fields}
                values |= {mine: make() for mine, make in absent.items() if make is not None}
                continue
            if first:
                continue
            parent = parents[self._parent_number(relation, number, place) % len(parents)]
            values |= {mine: parent[theirs] for mine, theirs in relation.fields.items()}
            values |= _copies(relation, parent)
        return {name: value for name, value in values.items() if name in model.parameters}

    def _parents(self, relation: Relation) -> list[dict[str, Any]]:
        """Their values; of those that are still to be made, the ids that they will have."""
        parent = relation.parent
        if parent in self.made:
            return [parent.values(each) for each in self.made[parent]]
        referring = {field for each in self.relations[parent] for field in each.fields}
        if referring.intersection(relation.fields.values()):
            return []
        return [
            {field: self._value(parent, field, number, plain=False) for field in relation.fields.values()}
            for number in range(self.of_each)
        ]

    def _parent_number(self, relation: Relation, number: int, place: int) -> int:
        """Those that share a partition of the table with their parents stay together; the others' go round."""
        if not relation.many:
            return number
        primary = relation.child.primary.label
        collected = any(primary in each.together for each in self.relations[relation.child])
        together = primary in relation.together if collected else place == 0
        return number // CHILDREN_TOGETHER if together else number + place


def _agree(relation: Relation, values: Mapping[str, Any], parent: Mapping[str, Any]) -> bool:
    return all(mine not in values or values[mine] == parent[theirs] for mine, theirs in relation.fields.items())


def _copies(relation: Relation, parent: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes that are called after the parent and one of its attributes."""
    child, tag = relation.child, entity_tag(relation.parent)
    called = {tag + name.replace("_", "").lower(): name for name in parent if name not in relation.fields.values()}
    copies = {}
    for name, codec in child.codecs.items():
        theirs = called.get(name.replace("_", "").lower())
        if theirs is not None and type_of(codec) == type_of(relation.parent.codecs[theirs]):
            copies[name] = parent[theirs]
    return copies


def _room(model: EntityModel[Any], name: str) -> tuple[int | None, int | None]:
    """The digits before the point, and behind it, that all keys have room for."""
    digits, decimals = [], []
    for key in model.keys.values():
        for part in key.parts:
            for each in part.template.formats:
                if each.field == name and each.shape is not None and part.template.kind == "S":
                    point = next((at for at, characters in enumerate(each.shape) if characters == {"."}), None)
                    digits.append(len(each.shape) if point is None else point)
                    decimals.append(0 if point is None else len(each.shape) - point - 1)
    return min(digits, default=None), min(decimals, default=None)


def _item_of(model: EntityModel[Any], entity: Any, *, given: bool = False) -> tuple[Item, Item]:
    """The item and its key."""
    try:
        return model.encode(entity), model.key_of(entity)
    except InvalidValue as error:
        if given:
            raise ModelError(f"A sample cannot be stored: {error}") from error
        raise


def _model_of(entity: Any) -> EntityModel[Any]:
    model: EntityModel[Any] | None = getattr(type(entity), "__model__", None)
    if model is None:
        raise ModelError(f"Samples are objects of entities, not {entity!r}")
    return model
