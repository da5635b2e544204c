"""The keys of an entity: of its table, and of each index that it is in.

`Key` is what stands in a class body; `BoundKey` is what the class answers with: it says what key attributes hold, reads
them, and is where queries begin. What is written is `KeyGroup`s, since one attribute may be part of several keys."""

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
    table's partition key: `Key(sort="{total:012.2}", index=by_total)`. An index on the table's own key attributes holds
    what the table's key writes, so leave the templates out: `Key(index=inverted)`.

    A text sorts with what follows it: of "{name}#{id}", "Ash Ltd" comes before "Ash", since a space is before "#".
    Where that matters, separate by what is before all others ("\\x1f").

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
            raise ModelError(f"{owner.__name__}.{self.name}: the class is in no table: give it its table=")
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
        "whole",
    )

    def __init__(
        self,
        key: Key,
        model: EntityModel[Any],
        table: Table,
        inherited: Mapping[str, BoundKey[Any]],
        *,
        declared: bool = True,
    ) -> None:
        """`inherited`: by attribute, the keys that write it already. `declared`: whether it stands in the class body,
        or is that of an index which the entity is in by its other keys."""
        self.model = model
        self.name = key.name
        self.label = f"{model.name}.{key.name}" if declared else f"{model.name} {key.name}"
        self.index = key.index
        self.shards = key.shards
        self.shard_by = key.shard_by
        self.random_shard = self._random_shard()
        where = table if key.index is None else key.index
        partition = key.partition
        if isinstance(key.index, LocalIndex) and (partition or key.shard_by is not None):
            raise ModelError(f"{self.label} is of a local index, whose partition key is the table's: give sort= only")
        self.partition = self._parts(where.partition, partition, "partition", table, inherited)
        self.sort = self._parts(where.sort, key.sort, "sort", table, inherited)
        self._inherit_shards(key, inherited)
        self._check_shards()
        if self.shards > 1 and self.partition[0].attribute.name not in inherited:
            template = self.partition[0].template
            template.limit(template.bytes_max - len(SHARD_SEPARATOR) - self._shard_digits)
        self.whole = KeyGroup(self, self.parts)
        self.fields = self.whole.fields
        self.may_be_absent: bool = self.whole.may_be_absent or any(
            inherited[part.attribute.name].may_be_absent for part in self.parts if part.attribute.name in inherited
        )
        if key.index is None and self.may_be_absent:
            optional = next(field for field in self.fields if model.codecs[field].absent is not None)
            raise ModelError(f"{self.label} has {{{optional}}} in it, which can be None, and an item needs its key")

    def __repr__(self) -> str:
        return self.label

    @property
    def described(self) -> str:
        """With its templates, for refusals."""
        return f"{self.label} ({', '.join(repr(part.template.source) for part in self.parts)})"

    @property
    def parts(self) -> list[Part]:
        return [*self.partition, *self.sort]

    @property
    def index_name(self) -> str | None:
        return None if self.index is None else self.index.name

    def wires(self, values: Mapping[str, Any]) -> Item | None:
        """Its attributes; None if a field is None."""
        return self.whole.wires(values)

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

    def _parts(
        self,
        attributes: Sequence[KeyAttribute],
        templates: Sequence[str],
        which: str,
        table: Table,
        inherited: Mapping[str, BoundKey[Any]],
    ) -> list[Part]:
        known = {each.name: inherited[each.name].part_of(each.name) for each in attributes if each.name in inherited}
        if not templates and len(known) == len(attributes):
            return list(known.values())
        if len(attributes) != len(templates):
            names = " and ".join(each.name for each in attributes) or "none"
            raise ModelError(
                f"{self.label} has {len(templates) or 'no'} template{'s' * (len(templates) != 1)} for the {which} key, "
                f"whose attributes are {names}"
            )
        parts = []
        for attribute, source in zip(attributes, templates, strict=True):
            part = known.get(attribute.name)
            if part is not None and part.template.source != source:
                raise ModelError(
                    f"{self.label} has the template {source!r} for {attribute.name}, where "
                    f"{inherited[attribute.name].label} writes {part.template.source!r}: leave out the {which} key's"
                )
            parts.append(part or self._part(attribute, source, table))
        return parts

    def _part(self, attribute: KeyAttribute, source: str, table: Table) -> Part:
        bytes_max = table.key_bytes_max(attribute.name)
        return Part(attribute, Template(source, attribute.kind, self.model.codecs, self.label, bytes_max))

    def part_of(self, attribute: str) -> Part:
        return next(part for part in self.parts if part.attribute.name == attribute)

    def _inherit_shards(self, key: Key, inherited: Mapping[str, BoundKey[Any]]) -> None:
        """With a partition that another key spreads; which cannot be part of a sort key, nor be spread in two ways."""
        writers = [inherited[part.attribute.name] for part in self.partition if part.attribute.name in inherited]
        if writers and key.shard_by is not None:
            raise ModelError(
                f"{self.label} has the partition key of {writers[0].label}: leave out shards= and shard_by="
            )
        for part in self.parts:
            writer = inherited.get(part.attribute.name)
            if writer is None or writer.shards == 1 or part not in writer.partition:
                continue
            if part in self.sort:
                raise ModelError(
                    f"{self.label} would sort by {part.attribute.name}, which {writer.label} spreads over shards: "
                    "give the index attributes of its own"
                )
            self.shards, self.shard_by, self.random_shard = writer.shards, writer.shard_by, writer.random_shard

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


class KeyGroup:
    """Key attributes that an item has together, or none of them: those of one key that may be absent, or a single one.
    `fields`: what they are made of, the one that the partition is spread by included."""

    __slots__ = ("_shard_by", "_texts", "fields", "key", "may_be_absent", "parts")

    def __init__(self, key: BoundKey[Any], parts: Sequence[Part]) -> None:
        self.key = key
        self.parts = list(parts)
        self._shard_by = key.shard_by if any(part in key.partition for part in parts) else None
        fields = [field for part in parts for field in part.template.fields]
        self.fields = tuple(dict.fromkeys([*fields, self._shard_by] if self._shard_by else fields))
        self.may_be_absent: bool = any(key.model.codecs[field].absent is not None for field in self.fields)
        self._texts = [(part.attribute.name, part.template.kind, part.template.text) for part in parts]

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
        if self._shard_by is not None:
            if values[self._shard_by] is None:
                return None
            self.key.spread(found, self.key.shard_of(values[self._shard_by]))
        return found


def key_groups(keys: Sequence[BoundKey[Any]]) -> list[KeyGroup]:
    """What is written for the keys of indexes besides the table's own key, which is the first of `keys`. An attribute
    that several of them have is written where its own fields are there, whatever the rest of a key is made of: an item
    is in an index if it has all attributes of its key, so that one of them more does not bring it there."""
    primary, *others = keys
    keys_of: dict[str, list[BoundKey[Any]]] = {}
    for key in others:
        for part in key.parts:
            if part not in primary.parts:
                keys_of.setdefault(part.attribute.name, []).append(key)
    groups = []
    for key in others:
        own = [part for part in key.parts if keys_of.get(part.attribute.name) == [key]]
        group = KeyGroup(key, own)
        groups += [group] if group.may_be_absent else [KeyGroup(key, [part]) for part in own]
    groups += [
        KeyGroup(sharing[0], [sharing[0].part_of(name)]) for name, sharing in keys_of.items() if len(sharing) > 1
    ]
    return groups


def check_shared(keys: Sequence[BoundKey[Any]]) -> None:
    """Refuses keys that would write one attribute in two ways."""
    writers: dict[str, BoundKey[Any]] = {}
    for key in keys:
        for part in key.parts:
            name = part.attribute.name
            other = writers.setdefault(name, key)
            theirs = other.part_of(name)
            if theirs.template.source != part.template.source:
                raise ModelError(
                    f"{key.label} writes {part.template.source!r} to {name}, and {other.label} "
                    f"{theirs.template.source!r}: give both one template, or the indexes attributes of their own"
                )
            if _spread(key, part) != _spread(other, theirs):
                raise ModelError(
                    f"{key.label} and {other.label} both write {name}, and spread it in different ways: "
                    "give both the same shards= and shard_by="
                )


def _spread(key: BoundKey[Any], part: Part) -> tuple[int, str | None]:
    return (key.shards, key.shard_by) if part in key.partition else (1, None)


def is_global(index: Index | None) -> bool:
    return isinstance(index, GlobalIndex)
