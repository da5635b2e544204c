"""Proposes a model from items: groups them, finds the types of their attributes and the templates of their keys.

What it writes is a proposal with its evidence beside it, and is tried: `proof` reads and writes every item with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from torusdb.modeling.design.drafts import AttributeDraft, EntityDraft, KeyDraft, Names, TableDraft
from torusdb.modeling.design.infer_groups import Group, groups_of, separator_of, type_attribute_of
from torusdb.modeling.design.infer_keys import Known, Templates
from torusdb.modeling.design.infer_types import TypeGuess, TypeGuesser, is_expiry, scalar
from torusdb.modeling.design.source import BUILTINS, RESERVED
from torusdb.modeling.design.tables import IndexShape, TableShape
from torusdb.modeling.scalars import EPOCH_SECONDS, SCALARS, Codec, Item, Wire
from torusdb.modeling.table import TYPE_ATTRIBUTE, KeyAttribute
from torusdb.modeling.templates import Template, can_equal

ENTITIES_MAX: Final = 40
"""More groups than that are no entities, but keys that were not understood: the rest is told of, and left out."""

Separators = dict[str, str | None]


def infer_table(
    shape: TableShape, items: Sequence[Item], names: Names, groups: Sequence[Group] | None = None
) -> TableDraft:
    """`names`: of classes, over all tables of a module. `groups`: where it is known which items belong together, and no
    attribute says so."""
    type_attribute = type_attribute_of(shape, items) if items else None
    known = list(groups) if groups is not None and type_attribute is None else None
    found = known if known is not None else groups_of(shape, items, type_attribute)
    separators: Separators = {
        name: separator_of(KeyAttribute(name, kind), items) for name, kind in shape.key_kinds.items()
    }
    draft = TableDraft(shape, type_attribute or TYPE_ATTRIBUTE, type_attribute is not None)
    if type_attribute is None and items:
        draft.comments.append(
            f"No attribute names the entity of an item, so they were told apart by their keys. The kit writes "
            f"{TYPE_ATTRIBUTE} into what it stores, and reads several entities at once only where it is there."
        )
    if shape.ttl is not None and items and not any(shape.ttl in item for item in items):
        draft.comments.append(
            f"The table's time to live is {shape.ttl}, which none of these items has: it is not in the model."
        )
    kept = _apart([_Drafting(shape, group, separators, type_attribute) for group in found[:ENTITIES_MAX]])
    draft.entities = [each.entity(names) for each in kept]
    if len(found) > ENTITIES_MAX:
        left = sum(len(group.items) for group in found[ENTITIES_MAX:])
        draft.comments.append(
            f"Left out: {left:,} items with keys of {len(found) - ENTITIES_MAX:,} more forms. So many forms say that "
            "the keys were not understood."
        )
    return draft


def _apart(draftings: list[_Drafting]) -> list[_Drafting]:
    """Those whose keys could be the same become one: no model could tell them apart."""
    kept: list[_Drafting] = []
    left = list(reversed(draftings))
    while left:
        each = left.pop()
        rival = next((other for other in kept if other.can_equal(each)), None)
        if rival is None:
            kept.append(each)
        else:
            kept.remove(rival)
            left.append(rival.together(each))
    return kept


class _Drafting:
    """Of one entity."""

    def __init__(self, shape: TableShape, group: Group, separators: Separators, type_attribute: str | None) -> None:
        self.shape = shape
        self.group = group
        self.separators = separators
        self.type_attribute = type_attribute
        self.names = Names({*RESERVED, *BUILTINS, "key"})
        self.key_names = {index.name: self.names.index_key(index.name) for index in shape.indexes}
        self.fields: dict[str, str] = {}
        """Python names, by those in the table."""
        self.codecs: dict[str, Codec | None] = {}
        self.presence = Counter(name for item in group.items for name in item)
        self.known = self._known()
        self.templates = Templates(self.known, self.names)
        self.primary = [self._table_template(each) for each in shape.key]

    # -- keys

    def _known(self) -> dict[str, Known]:
        """The scalar attributes that could be in a key."""
        known = {}
        for name in sorted(self.presence, key=lambda name: (-self.presence[name], name)):
            if name in self.shape.key_kinds or name == self.type_attribute:
                continue
            codec = self._scalar(name)
            if codec is not None:
                values = [codec.decode(item[name]) if name in item else None for item in self.group.items]
                known[self._field(name)] = Known(codec, values)
        return known

    def _scalar(self, name: str) -> Codec | None:
        if name not in self.codecs:
            self.codecs[name] = self._found_scalar(name)
        return self.codecs[name]

    def _found_scalar(self, name: str) -> Codec | None:
        kinds = {kind for item in self.group.items if name in item for kind in item[name]}
        if len(kinds) != 1 or not kinds <= {"S", "N", "B"}:
            return None
        (kind,) = kinds
        if name == self.shape.ttl:
            return None
        return scalar(kind, [item[name][kind] for item in self.group.items if name in item])

    def _field(self, name: str) -> str:
        if name not in self.fields:
            self.fields[name] = self.names.variable(name, "field")
        return self.fields[name]

    def _table_template(self, attribute: KeyAttribute) -> str:
        """A key attribute that is one value, of which nothing else is known, is an attribute of the entity itself."""
        template = None
        if attribute.kind == "S":
            texts = [item[attribute.name]["S"] for item in self.group.items]
            sorts = attribute == self.shape.sort
            template = self.templates.of_table(attribute.name, texts, self.separators[attribute.name], sorts=sorts)
        return template if template is not None else self._own(attribute.name)

    def _own(self, name: str) -> str:
        return "{" + self._field(name) + "}"

    def can_equal(self, other: _Drafting) -> bool:
        """By the kit's own rule, which refuses two such entities when they are declared."""
        for attribute, mine, theirs in zip(self.shape.key, self.primary, other.primary, strict=True):
            if attribute.kind != "S":
                continue
            one, two = self._compiled(mine), other._compiled(theirs)
            separators = one.separators() | two.separators()
            if not can_equal(one.atoms(separators), two.atoms(separators)):
                return False
        return True

    def _compiled(self, source: str) -> Template:
        codecs = {name: known.codec for name, known in self.templates.known.items()}
        for stored, field in self.fields.items():
            codecs.setdefault(field, self._scalar(stored) or SCALARS[str])
        return Template(source, "S", codecs, "")

    def together(self, other: _Drafting) -> _Drafting:
        return _Drafting(self.shape, self.group.together(other.group), self.separators, self.type_attribute)

    # -- the entity

    def entity(self, names: Names) -> EntityDraft:
        called = self._called()
        type_name = called.most_common(1)[0][0] if called else ""
        name = names.class_name(self.group.names[0] or type_name or self.shape.name, "Entity")
        draft = EntityDraft(name, type_name if self.type_attribute and type_name else name)
        draft.comments.append(f"{len(self.group.items):,} item{'s' * (len(self.group.items) != 1)}")
        if len(called) > 1:
            told = "Of several types" if self.type_attribute else "Of several forms"
            named = ", ".join(f"{each or 'without labels'}: {count:,}" for each, count in called.most_common())
            draft.comments.append(f"{told}, whose keys cannot be told apart: {named}")
        draft.keys.append(KeyDraft("key", self.primary[:1], self.primary[1:]))
        explained = self._index_keys(draft)
        self._attributes(draft, names, explained)
        return draft

    def _called(self) -> Counter[str]:
        """How often the items have which type; without a type, the names of the groups."""
        if self.type_attribute is None:
            return Counter(self.group.names)
        return Counter(item[self.type_attribute]["S"] for item in self.group.items)

    def _index_keys(self, draft: EntityDraft) -> set[str]:
        """Adds the keys of the indexes, and gives the key attributes that templates explain: they are written from
        other attributes, and are none of the entity itself."""
        explained = {
            attribute.name
            for attribute, template in zip(self.shape.key, self.primary, strict=True)
            if template != "{" + self.fields.get(attribute.name, "") + "}"
        }
        found = {index.name: self._index_templates(index) for index in self.shape.indexes}
        unexplained = {name for templates in found.values() for name, each in templates.items() if each is None}
        for index in self.shape.indexes:
            templates = found[index.name]
            if not all(self.presence[name] for name in templates):
                continue
            written = []
            for name, template in templates.items():
                if template is None or name in unexplained:
                    written.append(self._own(name))
                else:
                    written.append(template)
                    explained |= {name} - self.fields.keys()
            count = len(index.partition)
            draft.keys.append(KeyDraft(self.key_names[index.name], written[:count], written[count:], index.name))
        return explained

    def _index_templates(self, index: IndexShape) -> dict[str, str | None]:
        """By key attribute; None for one that is an attribute of the entity itself. Templates that would put an item
        into the index that is not in it, or leave one out, are none."""
        attributes = [*index.partition, *index.sort]
        items = self.group.items
        having = [number for number, item in enumerate(items) if all(each.name in item for each in attributes)]
        templates = {each.name: self._index_template(each, having, sorts=each in index.sort) for each in attributes}
        fields = [
            known
            for name, known in self.templates.known.items()
            if any(each and _names(name, each) for each in templates.values())
        ]
        own = [name for name, template in templates.items() if template is None]
        complete = [
            number
            for number, item in enumerate(items)
            if all(each.values[number] is not None for each in fields) and all(name in item for name in own)
        ]
        if complete == having:
            return templates
        primary = {each.name for each in self.shape.key}
        return {name: template if name in primary else None for name, template in templates.items()}

    def _index_template(self, attribute: KeyAttribute, having: list[int], *, sorts: bool) -> str | None:
        for each, template in zip(self.shape.key, self.primary, strict=True):
            if each.name == attribute.name:
                return template
        if attribute.kind != "S" or not having:
            return None
        texts = [self.group.items[number][attribute.name]["S"] for number in having]
        return self.templates.of_index(attribute.name, texts, having, self.separators[attribute.name], sorts=sorts)

    # -- attributes

    def _attributes(self, draft: EntityDraft, names: Names, explained: set[str]) -> None:
        guesser = TypeGuesser(names)
        draft.attributes += self.templates.added
        total = len(self.group.items)
        keys = [each.name for each in self.shape.key]
        order = sorted(self.presence, key=lambda name: (name not in keys, -self.presence[name], name.lower(), name))
        keyed = {name for key in draft.keys for name in self._key_names(key.index)}
        for name in order:
            if name in explained or name == self.type_attribute:
                continue
            if name in self.shape.key_kinds and name not in keyed:
                draft.comments.append(
                    f"Not in the model: {name}, a part of an index's key that no item here has all of"
                )
                continue
            values = [item[name] for item in self.group.items if name in item]
            guess = self._guess(guesser, name, values)
            if guess is None:
                kinds = ", ".join(sorted({kind for wire in values for kind in wire}))
                draft.comments.append(f"Not in the model: {name}, which is {kinds} in turn")
                continue
            draft.attributes.append(self._attribute(name, guess, len(values), total))
        draft.dataclasses = guesser.dataclasses

    def _key_names(self, index: str | None) -> set[str]:
        found = next((each for each in self.shape.indexes if each.name == index), None)
        return {each.name for each in ((*found.partition, *found.sort) if found is not None else self.shape.key)}

    def _guess(self, guesser: TypeGuesser, name: str, values: list[Wire]) -> TypeGuess | None:
        if name == self.shape.ttl and is_expiry(values):
            return TypeGuess("datetime", EPOCH_SECONDS, "the table's time to live")
        return guesser.guess(name, values)

    def _attribute(self, name: str, guess: TypeGuess, count: int, total: int) -> AttributeDraft:
        field = self._field(name)
        optional = (count < total or guess.may_be_none) and not guess.is_set
        told = "" if count == total else f"in {count:,} of {total:,}"
        draft = AttributeDraft(field, guess.annotation, name, comment="; ".join(filter(None, [told, guess.comment])))
        draft.is_ttl = guess.codec is EPOCH_SECONDS
        if optional:
            draft.annotation += " | None"
            draft.default = "default=None"
        elif guess.is_set and count < total:
            draft.default = "default_factory=set"
        return draft


def _names(field: str, template: str) -> bool:
    return "{" + field + "}" in template or "{" + field + ":" in template
