"""The keys of an entity: of its table, and of each index that it is in.

`Key` is what stands in a class body; `BoundKey` is what the class answers with: it writes key attributes, reads them,
and is where queries begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload
from zlib import crc32

from torusdb.modeling.errors import InvalidValue, ModelError
from torusdb.modeling.formats import DIGITS
from torusdb.modeling.scalars import Item, Wire
from torusdb.modeling.shards import SHARDS_MAX, RandomShard
from torusdb.modeling.table import GlobalIndex, Index, KeyAttribute, LocalIndex, Table
from torusdb.modeling.templates import Atom, Template, can_equal, literal_atoms

if TYPE_CHECKING:
    from torusdb.modeling.entity import Entity
    from torusdb.modeling.expressions import Condition
    from torusdb.modeling.model import EntityModel
    from torusdb.modeling.queries import Query

E = TypeVar("E", bound="Entity")

Templates = str | Sequence[str]

SHARD_SEPARATOR: Final = "#"


class Key:
    """`Key("CUSTOMER#{id}", "#ORDER#{number:08}")`: templates for the partition and the sort key of the table, or of an
    index. For an index whose key has several attributes, a list of templates for either part. A local index has the
    table's partition key: `Key(sort="{total:012.2}", index=by_total)`.

    `shards`: spreads one partition over so many, by the value of the attribute `shard_by`; "#" and the number of the
    shard follow the partition template. A query that doesn't give `shard_by` reads all shards, and merges what they
    answer. Where the attribute has a `random_shard` as its default, it is the number of the shard itself, and says how
    many there are."""

    def __init__(
        self,
        partition: Templates = (),
        sort: Templates = (),
        *,
        index: Index | None = None,
        shards: int = 1,
        shard_by: str | None = None,
    ) -> None:
        self.partition = [partition] if isinstance(partition, str) else list(partition)
        self.sort = [sort] if isinstance(sort, str) else list(sort)
        self.index = index
        self.shards = shards
        self.shard_by = shard_by
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type[E]) -> BoundKey[E]: ...
    @overload
    def __get__(self, instance: E, owner: type[E]) -> BoundKey[E]: ...
    def __get__(self, instance: E | None, owner: type[E]) -> BoundKey[E]:
        model = owner.__model__
        if model is None:
            raise ModelError(f"{owner.__name__}.{self.name}: the class is in no table")
        found: BoundKey[E] = model.keys[self.name]
        return found


class Part:
    """A key attribute and what stands in it."""

    __slots__ = ("attribute", "template")

    def __init__(self, attribute: KeyAttribute, template: Template) -> None:
        self.attribute = attribute
        self.template = template


class BoundKey(Generic[E]):
    """A key of an entity. `fields`: the attributes that it is made of; `may_be_absent`: whether one of them can be
    None, which leaves the entity out of the index."""

    __slots__ = (
        "_texts",
        "fields",
        "index",
        "label",
        "may_be_absent",
        "model",
        "name",
        "partition",
        "random_shard",
        "shard_by",
        "shards",
        "sort",
    )

    def __init__(self, key: Key, model: EntityModel[Any], table: Table, inherited: BoundKey[Any] | None) -> None:
        """`inherited`: the table's key of the entity, from which a local index has its partition."""
        self.model = model
        self.name = key.name
        self.label = f"{model.name}.{key.name}"
        self.index = key.index
        self.shards = key.shards
        self.shard_by = key.shard_by
        self.random_shard = self._random_shard()
        where = table if key.index is None else key.index
        if isinstance(key.index, LocalIndex):
            if key.partition or inherited is None:
                raise ModelError(
                    f"{self.label} is of a local index, whose partition key is the table's: give sort= only"
                )
            self.partition: list[Part] = inherited.partition
            self.shards, self.shard_by = inherited.shards, inherited.shard_by
            self.random_shard = inherited.random_shard
        else:
            self.partition = self._parts(where.partition, key.partition, "partition")
        self.sort = self._parts(where.sort, key.sort, "sort")
        for part in self.sort:
            part.template.check_sorts()
        self._check_shards()
        self._texts = [(part.attribute.name, part.template.kind, part.template.text) for part in self.parts]
        self.fields = tuple(
            dict.fromkeys(
                [field for part in self.parts for field in part.template.fields]
                + ([self.shard_by] if self.shard_by else [])
            )
        )
        self.may_be_absent = any(model.codecs[field].absent is not None for field in self.fields)
        if key.index is None and self.may_be_absent:
            optional = next(field for field in self.fields if model.codecs[field].absent is not None)
            raise ModelError(f"{self.label} has {{{optional}}} in it, which can be None, and an item needs its key")

    def __repr__(self) -> str:
        return self.label

    @property
    def parts(self) -> list[Part]:
        return [*self.partition, *self.sort]

    @property
    def index_name(self) -> str | None:
        return None if self.index is None else self.index.name

    def write(self, values: Mapping[str, Any], item: Item) -> None:
        """Puts the key attributes into an item; none of them if a field is None."""
        wires = self.wires(values)
        if wires is not None:
            item.update(wires)

    def wires(self, values: Mapping[str, Any]) -> Item | None:
        found: Item = {}
        for name, kind, text in self._texts:
            value = text(values)
            if value is None:
                return None
            found[name] = {kind: value}
        if self.shard_by is not None:
            if values[self.shard_by] is None:
                return None
            self.spread(found, self.shard_of(values[self.shard_by]))
        return found

    def part_wire(self, part: Part, values: Mapping[str, Any]) -> Wire | None:
        """What one of its attributes holds; None if a field is None."""
        wire = part.template.wire(values)
        if wire is not None and self.shard_by is not None and part in self.partition:
            return self.sharded(wire, self.shard_of(values[self.shard_by]))
        return wire

    def parse(self, key: Item) -> dict[str, Any] | None:
        """The fields of key attributes that this key wrote, None if it cannot have. (The value that a shard was
        calculated from is not among them.)"""
        found: dict[str, Any] = {}
        try:
            for part in self.parts:
                known = part.template.kind in key.get(part.attribute.name, {})
                values = self.part_values(part, key) if known else None
                if values is None or any(found.setdefault(field, value) != value for field, value in values.items()):
                    return None
            is_whole = self.shard_by is None or self.shard_by in found
            return found if not is_whole or self.wires(found) == key else None
        except InvalidValue:  # it is not as a value of the field would have been written
            return None

    def shard_of(self, value: Any) -> int:
        """The same for equal values, in any process: a CRC of what is stored; or the value itself, if it was drawn."""
        assert self.shard_by is not None
        if self.random_shard is not None:
            return self.random_shard.checked(value, f"{self.model.name}.{self.shard_by}")
        wire = self.model.codecs[self.shard_by].encode(value)
        assert wire is not None
        stored = next(iter(wire.values()))
        return crc32(stored if isinstance(stored, bytes) else str(stored).encode()) % self.shards

    def spread(self, item: Item, shard: int) -> None:
        name = self.partition[0].attribute.name
        item[name] = self.sharded(item[name], shard)

    def sharded(self, wire: Wire, shard: int) -> Wire:
        return {"S": f"{wire['S']}{SHARD_SEPARATOR}{shard:0{self._shard_digits}}"}

    @property
    def _shard_digits(self) -> int:
        return len(str(self.shards - 1))

    def part_values(self, part: Part, item: Item) -> dict[str, Any] | None:
        """The fields in one of its attributes, as it is stored; None if this key cannot have written that. The shard is
        among them where it was drawn."""
        value = item[part.attribute.name][part.template.kind]
        if self.shards == 1 or part not in self.partition:
            return part.template.parse(value)
        text, separator, shard = value.rpartition(SHARD_SEPARATOR)
        digits = shard.isdecimal() and shard.isascii() and len(shard) == self._shard_digits
        if not separator or not digits or int(shard) >= self.shards:
            return None
        values = part.template.parse(text)
        if values is not None and self.random_shard is not None and self.shard_by is not None:
            values[self.shard_by] = int(shard)
        return values

    def query(self, *conditions: Condition) -> Query[E]:
        """The entities of one partition. Conditions give each field of the partition key with `==`, and may give those
        of the sort key from the left with `==`, and a range on the next."""
        from torusdb.modeling.queries import Query

        return Query(self, conditions)

    def _parts(self, attributes: Sequence[KeyAttribute], templates: Sequence[str], which: str) -> list[Part]:
        if len(attributes) != len(templates):
            names = " and ".join(each.name for each in attributes) or "none"
            raise ModelError(
                f"{self.label} has {len(templates) or 'no'} template{'s' * (len(templates) != 1)} for the {which} key, "
                f"whose attributes are {names}"
            )
        return [
            Part(attribute, Template(template, attribute.kind, self.model.codecs, self.label))
            for attribute, template in zip(attributes, templates, strict=True)
        ]

    def _random_shard(self) -> RandomShard | None:
        attribute = self.model.attributes.get(self.shard_by or "")
        drawn = None if attribute is None else attribute._declared.default_factory
        if not isinstance(drawn, RandomShard):
            return None
        if self.shards not in {1, drawn.shards}:
            raise ModelError(
                f"{self.label} takes shards={self.shards}, and {attribute!r} is drawn from {drawn.shards}: "
                "leave out shards="
            )
        self.shards = drawn.shards
        return drawn

    def _check_shards(self) -> None:
        if (self.shards > 1) != (self.shard_by is not None) or not 1 <= self.shards <= SHARDS_MAX:
            raise ModelError(f"{self.label} takes shards= (2 to {SHARDS_MAX}) and shard_by= together")
        if self.shard_by is None:
            return
        if self.shard_by not in self.model.codecs:
            raise ModelError(f"{self.label} is sharded by {self.shard_by}, and there is no attribute of this name")
        if len(self.partition) != 1 or self.partition[0].attribute.kind != "S":
            raise ModelError(f"{self.label} is sharded, and its partition key is not a single text")
        codec = self.model.codecs[self.shard_by]
        if codec.kinds not in {("S",), ("N",), ("B",)} or codec.plain in {Decimal, float}:  # 1.0 and 1.00 are equal
            raise ModelError(f"{self.label} is sharded by {self.shard_by}, which is no text, int or binary")
        if self.random_shard is not None and codec.plain is not int:
            raise ModelError(f"{self.label} is sharded by {self.shard_by}, whose shard is drawn: make it an Attr[int]")

    def can_equal(self, other: BoundKey[Any], *, any_text: bool = False) -> bool:
        """Whether an entity of each can have the same key; with `any_text`, if texts hold what separates fields."""

        def parts_can_equal(mine: Part, theirs: Part) -> bool:
            if mine.template.kind != "S":
                return True
            separators = frozenset[str]() if any_text else mine.template.separators() | theirs.template.separators()
            return can_equal(self._atoms(mine, separators), other._atoms(theirs, separators))

        return all(map(parts_can_equal, self.parts, other.parts))

    def _atoms(self, part: Part, separators: frozenset[str]) -> list[Atom]:
        atoms = part.template.atoms(separators)
        if self.shards > 1 and part in self.partition:
            digit = Atom((False, DIGITS), many=False)
            atoms += [*literal_atoms(SHARD_SEPARATOR), *[digit] * self._shard_digits]
        return atoms

    def is_taken_for(self, rival: BoundKey[Any], item: Item) -> bool:
        """Whether a key that this one wrote could as well be the rival's, and its texts are to blame: keys of both are
        told apart where no text holds what separates fields, so of two that are the same, the one is refused that has
        more of that in its texts."""
        separators = self.separators() | rival.separators()
        theirs = rival.count_in_texts(item, separators)
        if theirs is None:
            return False
        mine = self.count_in_texts(item, separators)
        return mine is None or theirs <= mine

    def separators(self) -> frozenset[str]:
        """What ends fields, by its first character."""
        return frozenset[str]().union(*(part.template.separators() for part in self.parts))

    def count_in_texts(self, item: Item, characters: frozenset[str]) -> int | None:
        """How many of the characters are in the texts of a key; None if it is not of this form."""
        count = 0
        for part in self.parts:
            values = self.part_values(part, item)
            if values is None:
                return None
            texts = [values[each.field] for each in part.template.formats if each.is_text and part.template.kind == "S"]
            count += sum(text.count(each) for text in texts for each in characters)
        return count


def is_global(index: Index | None) -> bool:
    return isinstance(index, GlobalIndex)
