"""What the kit knows of an entity: its attributes, its keys, and how an object becomes an item and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from torusdb.modeling.attributes import MISSING, Attribute
from torusdb.modeling.errors import InvalidValue, ModelError
from torusdb.modeling.hints import did_you_mean
from torusdb.modeling.keys import BoundKey, Key, check_shared, key_groups
from torusdb.modeling.scalars import Item
from torusdb.modeling.table import Table

if TYPE_CHECKING:
    from torusdb.modeling.entity import Entity

E = TypeVar("E", bound="Entity")

PRIMARY = "key"
"""The name under which an entity declares its key of the table."""


class EntityModel(Generic[E]):
    def __init__(
        self,
        kind: type[E],
        table: Table,
        type_name: str,
        attributes: Mapping[str, Attribute[Any]],
        keys: Mapping[str, Key],
    ) -> None:
        self.kind = kind
        self.name = kind.__name__
        self.table = table
        self.type_name = type_name
        self.attributes = dict(attributes)
        self.codecs = {name: each._codec for name, each in attributes.items()}
        self.computed = {name: each for name, each in attributes.items() if each._declared.compute is not None}
        self.version = _only_one(self.name, "version", attributes)
        self.ttl = _only_one(self.name, "ttl", attributes)
        self.hidden_by = self.ttl if self.ttl is not None and self.ttl._declared.hide_expired else None
        """The attribute by which what has expired is hidden."""
        self.in_key = {name: each for name, each in attributes.items() if each._declared.in_key}
        self._check_type_name()
        self._check_names()
        self.keys = self._bind(keys)
        self.primary = self.keys[PRIMARY]
        self.rivals = self._rivals()
        self._check_ttl()
        self._check_key_attributes()
        self._prepare()

    def __repr__(self) -> str:
        return f"<model of {self.name}>"

    # -- what is checked when it is declared

    def _check_type_name(self) -> None:
        known = self.table.entities.get(self.type_name)
        if known is None:
            return
        if known.name == self.name:
            raise ModelError(
                f"{self.name} is declared twice in the table {self.table.name}: "
                f"to declare it anew, make the Table anew before it"
            )
        raise ModelError(
            f"{self.name} has the type name {self.type_name!r}, which {known.name} has in the table {self.table.name}"
        )

    def _check_names(self) -> None:
        stored: dict[str, str] = {}
        for name, attribute in self.attributes.items():
            if name in self.in_key:
                continue
            if attribute._stored == self.table.type_attribute:
                raise ModelError(
                    f"{self.name}.{name} is stored as {attribute._stored}, where the table keeps the entity's name"
                )
            if stored.setdefault(attribute._stored, name) != name:
                raise ModelError(
                    f"{self.name}.{name} is stored as {attribute._stored}, "
                    f"as {self.name}.{stored[attribute._stored]} is"
                )
            for need in attribute._declared.needs:
                if need not in self.attributes or self.attributes[need]._declared.compute is not None:
                    raise ModelError(
                        f"{self.name}.{name} is computed from {need}, which is no stored attribute of {self.name}"
                        + did_you_mean(need, self.attributes)
                    )

    def _bind(self, keys: Mapping[str, Key]) -> dict[str, BoundKey[E]]:
        primary = keys.get(PRIMARY)
        if primary is None or primary.index is not None:
            raise ModelError(f"{self.name} has no key of the table: key = Key(…), without an index")
        bound: dict[str, BoundKey[E]] = {PRIMARY: BoundKey(primary, self, self.table, {})}
        own = dict.fromkeys(self.table.key_names(), bound[PRIMARY])
        by_index: dict[str | None, str] = {None: PRIMARY}
        for name, key in keys.items():
            if name == PRIMARY:
                continue
            if key.index not in self.table.indexes:
                raise ModelError(
                    f"{self.name}.{name} is of {key.index or 'no index'}, and the table {self.table.name} has none such"
                )
            bound[name] = BoundKey(key, self, self.table, own)
            index_name = bound[name].index_name
            if by_index.setdefault(index_name, name) != name:
                raise ModelError(
                    f"{self.name}.{name} and {self.name}.{by_index[index_name]} are of one index, {index_name}, "
                    "which an item is in once: give one of them an index of its own, or an item"
                )
        unsorted = [each for key in bound.values() for part in key.sort for each in part.template.unsorted()]
        if unsorted:
            raise ModelError("; ".join(dict.fromkeys(unsorted)))
        check_shared(list(bound.values()))
        return bound | self._implied(bound)

    def _implied(self, bound: Mapping[str, BoundKey[E]]) -> dict[str, BoundKey[E]]:
        """The keys of indexes that the entity is in without a key that says so, since its others write all that is in
        their keys: who queries such an index meets it there. Their names are none that an attribute could have."""
        writers = {part.attribute.name: key for key in reversed(list(bound.values())) for part in key.parts}
        declared = [key.index for key in bound.values()]
        implied: dict[str, BoundKey[E]] = {}
        for index in self.table.indexes:
            if index not in declared and all(each.name in writers for each in [*index.partition, *index.sort]):
                key = Key(index=index)
                key.name = f"in {index.name}"
                implied[key.name] = BoundKey(key, self, self.table, writers, declared=False)
        return implied

    def _check_key_attributes(self) -> None:
        """An attribute of the entity that is a key attribute as well must be all that is in it."""
        for key in self.keys.values():
            for part in key.parts:
                name = part.attribute.name
                owner = next((field for field, each in self.stored_attributes() if each._stored == name), None)
                if owner is None:
                    continue
                whole = part.template.source == f"{{{owner}}}" and self.codecs[owner].kinds == (part.attribute.kind,)
                if not whole or (key.shards > 1 and part in key.partition):
                    raise ModelError(
                        f"{self.name}.{owner} is stored as {name}, where {key.label} writes {part.template.source!r}: "
                        "name it otherwise, or make the template {" + owner + "}"
                    )
        names = {part.attribute.name for key in self.keys.values() for part in key.parts}
        for field, attribute in self.stored_attributes():
            if attribute._stored in self.table.key_kinds and attribute._stored not in names:
                raise ModelError(
                    f"{self.name}.{field} is stored as {attribute._stored}, the key attribute of an index "
                    f"that {self.name} has no key for"
                )

    def _rivals(self) -> list[BoundKey[Any]]:
        """The keys of other entities that could be written by this one's, with a text that looks like more fields."""
        rivals = []
        for other in self.table.entities.values():
            if self.primary.can_equal(other.primary):
                raise ModelError(
                    f"{self.primary.described} and {other.primary.described} can be the same key of the table "
                    f"{self.table.name}: begin one with another word"
                )
            if self.primary.can_equal(other.primary, any_text=True):
                rivals.append(other.primary)
        return rivals

    def _check_ttl(self) -> None:
        for other in self.table.entities.values():
            if self.ttl is not None and other.ttl is not None and self.ttl._stored != other.ttl._stored:
                raise ModelError(
                    f"{self.ttl!r} is stored as {self.ttl._stored}, and {other.ttl!r} as {other.ttl._stored}: "
                    "a table has one TTL attribute, so give both one name"
                )

    def join(self) -> None:
        """Becomes known to its table; nothing before this has changed anything but itself."""
        self.table.entities[self.type_name] = self
        for rival in self.rivals:
            rival.model.rivals.append(self.primary)

    # -- objects and items

    def _prepare(self) -> None:
        declared = [(name, each, each._declared) for name, each in self.attributes.items()]
        given = [each for each in declared if each[2].compute is None]
        self.parameters = frozenset(name for name, _, _ in given)
        self.defaults = {name: of.default for name, _, of in given if of.default is not MISSING}
        self.factories = {name: of.default_factory for name, _, of in given if of.default_factory is not None}
        self.required = self.parameters - self.defaults.keys() - self.factories.keys()
        self.stored_as_null = frozenset(name for name, each, _ in given if each._stores_none)
        self._writers = [(name, each._stored, each._codec.encode) for name, each in self.stored_attributes()]
        self._readers = [self._reader(name, each) for name, each, _ in given]
        self._type = {"S": self.type_name}
        self.key_groups = key_groups(list(self.keys.values()))
        """What is written for its keys of indexes."""
        self._key_writers = [self.primary.whole, *self.key_groups]
        # Assigns an object's __dict__ without its __setattr__, which looks at every name.
        self._give = next(vars(each)["__dict__"] for each in self.kind.__mro__ if "__dict__" in vars(each)).__set__

    def stored_attributes(self) -> list[tuple[str, Attribute[Any]]]:
        """All that have an attribute of the item to themselves."""
        return [(name, each) for name, each in self.attributes.items() if name not in self.in_key]

    def _reader(
        self, name: str, attribute: Attribute[Any]
    ) -> tuple[str, str, Callable[[Any], Any], Callable[[], Any] | None]:
        """Field, stored name, what reads its wire, and what stands in where nothing is stored."""
        if name not in self.in_key:
            return name, attribute._stored, attribute._codec.decode, self._absent(name)
        part = next((part for part in self.primary.parts if name in part.template.fields), None)
        if part is None or self.primary.shards > 1:
            reason = "is sharded" if part is not None else "does not have it"
            raise ModelError(
                f"{self.name}.{name} is to be read from the table's key, and {self.primary.label} {reason}"
            )
        template, kind = part.template, part.attribute.kind

        def decode(wire: Any) -> Any:
            values = template.parse(wire[kind])
            if values is None:
                raise InvalidValue(f"the template {template.source!r} cannot have written it")
            return values[name]

        return name, part.attribute.name, decode, None

    def _absent(self, name: str) -> Callable[[], Any] | None:
        """Makes what is read where nothing is stored; None if something must be."""
        codec = self.codecs[name]
        if codec.absent is not None and name not in self.stored_as_null:
            return codec.absent
        if name in self.defaults:
            default = self.defaults[name]
            return lambda: default
        return self.factories.get(name)

    def removed_value(self, name: str) -> Any:
        """What is read once the attribute is removed; MISSING where each time it is another."""
        absent = self._absent(name)
        if absent is None or absent is self.factories.get(name):
            return MISSING
        return absent()

    def values(self, entity: E) -> dict[str, Any]:
        """All attributes, computed ones included."""
        values = entity.__dict__
        if self.computed:
            values = {**values, **{name: each._declared.compute(entity) for name, each in self.computed.items()}}  # type: ignore[misc]
        return values

    def encode(self, entity: E) -> Item:
        """The item of an entity: its attributes, its keys, and its name."""
        values = self.values(entity)
        item: Item = {self.table.type_attribute: self._type}
        name = ""
        try:
            for name, stored, encode in self._writers:
                wire = encode(values[name])
                if wire is not None:
                    item[stored] = wire
                elif name in self.stored_as_null:
                    item[stored] = {"NULL": True}
        except InvalidValue as error:
            raise InvalidValue(f"{self.name}.{name}: {error}") from None
        for group in self._key_writers:
            group.write(values, item)
        if self.rivals:
            self.check_rivals(item, repr(entity))
        return item

    def check_rivals(self, item: Item, what: str) -> None:
        """Refuses a key that could as well be another entity's."""
        for rival in self.rivals:
            if self.primary.is_taken_for(rival, item):
                raise InvalidValue(
                    f"{what} would have the key of a {rival.model.name}: a text in it looks like more fields"
                )

    def decode(self, item: Item) -> E:
        values = {}
        name = stored = ""
        try:
            for name, stored, decode, absent in self._readers:
                wire = item.get(stored)
                if wire is not None:
                    values[name] = decode(wire)
                elif absent is not None:
                    values[name] = absent()
                else:
                    raise KeyError(stored)
        except (ValueError, KeyError, ArithmeticError, TypeError) as error:
            raise self._unreadable(name, stored, item, error) from None
        kind = self.kind
        entity = kind.__new__(kind)
        self._give(entity, values)
        return entity

    def reader(self, name: str) -> Callable[[Item], Any]:
        """Reads one attribute of an item, as `decode` does."""
        _, stored, decode, absent = self._reader(name, self.attributes[name])

        def read(item: Item) -> Any:
            try:
                if stored in item:
                    return decode(item[stored])
                if absent is None:
                    raise KeyError(stored)
            except (ValueError, KeyError, ArithmeticError, TypeError) as error:
                raise self._unreadable(name, stored, item, error) from None
            return absent()

        return read

    def _unreadable(self, name: str, stored: str, item: Item, error: Exception) -> InvalidValue:
        if stored not in item:
            return InvalidValue(f"{self.name}.{name} cannot be read: the item has no {stored}")
        return InvalidValue(f"{self.name}.{name} cannot be read from {item[stored]!r}: {error}")

    def key_of(self, entity: E) -> Item:
        return self.key_from(self.values(entity))

    def key_from(self, values: Mapping[str, Any]) -> Item:
        key = self.primary.wires(values)
        assert key is not None  # none of its fields can be None: see BoundKey
        return key

    def is_own(self, item: Item) -> bool:
        return item.get(self.table.type_attribute) == self._type


def _only_one(owner: str, role: str, attributes: Mapping[str, Attribute[Any]]) -> Attribute[Any] | None:
    found = [each for each in attributes.values() if each._declared.role == role]
    if len(found) > 1:
        raise ModelError(f"{owner} has two attributes that are its {role}: {found[0]._field} and {found[1]._field}")
    return found[0] if found else None
