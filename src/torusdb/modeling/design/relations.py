"""Which entity refers to which, as far as the model says it.

Theory of operation. What tells an entity's items apart is its identity: the fields of its key of the table. Another
entity refers to it if it has all of these. Whether a field is one of them is told by

- the word before it in a key template: with `Customer.key = Key("CUSTOMER#{id}", …)`, every field of any entity that
  stands behind CUSTOMER in a template is a customer's id;
- its name, if that is the entity's: `customer`, `customer_id`;
- `attr(refers_to=Employee)`, which goes before both.

Types have to be the same. Of several entities with one identity (a customer, and their settings in an item of their
own), the first, or the one that the word names, is the one referred to; the others are one-to-one with it. What none
of this says is not said: there are no other guesses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from torusdb.modeling.errors import ModelError
from torusdb.modeling.keys import BoundKey
from torusdb.modeling.model import EntityModel
from torusdb.modeling.scalars import Codec
from torusdb.modeling.table import Table

Basis: TypeAlias = Literal["declared", "key", "name"]

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_REFERENCE_ENDS = ("id", "key", "code", "number", "no", "ref", "name")


class Relation(NamedTuple):
    """Each `child` refers to one `parent`, through `fields` (the child's fields, and the parent's that they equal).
    `many`: a parent can have several such children. `optional`: a child can do without a parent. `basis`: what says so,
    the author, key templates or a name only. `together`: the labels of the child's keys by which a query reads both at
    once."""

    parent: EntityModel[Any]
    child: EntityModel[Any]
    fields: Mapping[str, str]
    many: bool
    optional: bool
    basis: Basis
    together: tuple[str, ...]


class ManyToMany(NamedTuple):
    """Two entities that `through`, whose identity is made of both of theirs, joins."""

    one: EntityModel[Any]
    other: EntityModel[Any]
    through: EntityModel[Any]


def relations_of(tables: Iterable[Table]) -> list[Relation]:
    models = [model for table in tables for model in table.entities.values()]
    parents = _owners(models)
    relations = [
        _relation(parent, child, matched)
        for child in models
        for parent in parents
        for matched in _matches(parent, child)
        if not _is_owner_of(child, parent, parents)
    ]
    _check_declared(models, relations)
    return relations


def _check_declared(models: Sequence[EntityModel[Any]], relations: Sequence[Relation]) -> None:
    found = {(each.child, field) for each in relations if each.basis == "declared" for field in each.fields}
    for model in models:
        for name, attribute in model.attributes.items():
            target = attribute._declared.refers_to
            if target is not None and (model, name) not in found:
                raise ModelError(
                    f"{model.name}.{name} refers to {target}, which is no entity here whose key ends with a value of "
                    f"its type and whose other key fields {model.name} has"
                )


def many_to_many(relations: Sequence[Relation]) -> list[ManyToMany]:
    found = []
    for place, one in enumerate(relations):
        for other in relations[place + 1 :]:
            if one.child is not other.child:
                continue
            identity = set(one.child.primary.fields)
            mine, theirs = set(one.fields) & identity, set(other.fields) & identity
            if mine | theirs == identity and not mine <= theirs and not theirs <= mine:
                found.append(ManyToMany(one.parent, other.parent, one.child))
    return found


def name_tag(name: str) -> str:
    """`customer`, `customer_id` and `customerId` are one; `id` alone says nothing."""
    words = _words(name)
    if words and words[-1] in _REFERENCE_ENDS:
        words = words[:-1]
    return "".join(words)


def entity_tag(model: EntityModel[Any]) -> str:
    return "".join(_words(model.name))


def template_tags(model: EntityModel[Any]) -> dict[str, set[str]]:
    """The words that stand before each field in the templates of all keys."""
    tags: dict[str, set[str]] = {}
    for key in model.keys.values():
        for field, tag in _tags_of(key):
            tags.setdefault(field, set()).add(tag)
    return tags


def identity_tags(model: EntityModel[Any]) -> dict[str, str]:
    """Of each field of the identity: the word before it, else its name, else the entity's."""
    by_template = dict(reversed(list(_tags_of(model.primary))))
    return {
        field: by_template.get(field) or name_tag(field) or entity_tag(model)
        for field in dict.fromkeys(field for part in model.primary.parts for field in part.template.fields)
    }


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_HUMP.sub("_", name).replace("_", " "))]


def _tags_of(key: BoundKey[Any]) -> Iterator[tuple[str, str]]:
    for part in key.parts:
        for literal, field in zip(part.template.literals, part.template.fields, strict=False):
            words = _WORD.findall(literal)
            if words:
                yield field, words[-1].lower()


def _owners(models: Sequence[EntityModel[Any]]) -> list[EntityModel[Any]]:
    """Of the entities with one identity, the one that others refer to."""
    groups: dict[tuple[Any, ...], list[EntityModel[Any]]] = {}
    for model in models:
        tags = identity_tags(model)
        if tags:
            types = tuple(type_of(model.codecs[field]) for field in tags)
            groups.setdefault((*tags.values(), *types), []).append(model)
    return [
        next((each for each in group if entity_tag(each) == list(identity_tags(each).values())[-1]), group[0])
        for group in groups.values()
    ]


def _is_owner_of(child: EntityModel[Any], parent: EntityModel[Any], parents: Sequence[EntityModel[Any]]) -> bool:
    """Of two that have each other's identity, one refers to the other, and not both to each other."""
    same_identity = sorted(identity_tags(child).values()) == sorted(identity_tags(parent).values())
    return same_identity and child is not parent and child in parents and parents.index(child) < parents.index(parent)


def _matches(parent: EntityModel[Any], child: EntityModel[Any]) -> Iterator[tuple[dict[str, str], Basis]]:
    """The ways in which the child's fields have the parent's identity."""
    identity = identity_tags(parent)
    by_field = [(field, _candidates(parent, child, field, tag)) for field, tag in identity.items()]
    if child is parent and len(identity) > 1:
        return
    last_field, last = by_field[-1]
    for candidate, basis in last.items():
        fields: dict[str, str] = {}
        bases = [basis]
        for field, candidates in by_field[:-1]:
            free = [each for each in candidates if each not in fields and each != candidate]
            if not free:
                return
            fields[free[0]] = field
            bases.append(candidates[free[0]])
        yield {**fields, candidate: last_field}, _strongest(bases)


def _strongest(bases: Sequence[Basis]) -> Basis:
    """A relation is as sure as the last field of its identity, if the author says it, else as the least sure of all."""
    if bases[0] == "declared":
        return "declared"
    return "name" if "name" in bases else "key"


def _candidates(parent: EntityModel[Any], child: EntityModel[Any], field: str, tag: str) -> dict[str, Basis]:
    """The child's fields that can be this field of the parent's identity, those that a key says first."""
    same_type = [
        name
        for name, codec in child.codecs.items()
        if name not in child.computed and type_of(codec) == type_of(parent.codecs[field])
    ]
    declared: dict[str, Basis] = {}
    by_key: dict[str, Basis] = {}
    by_name: dict[str, Basis] = {}
    tags = template_tags(child)
    is_last = field == list(identity_tags(parent))[-1]
    for name in same_type:
        target = child.attributes[name]._declared.refers_to
        if target is not None and is_last:
            if target == parent.name:
                declared[name] = "declared"
            continue
        if child is parent and name_tag(name) not in {"parent", "parent" + entity_tag(parent)}:
            continue
        is_other_attribute = name != field and name in parent.attributes and name not in parent.primary.fields
        if tag in tags.get(name, ()) and not is_other_attribute:
            by_key[name] = "key"
        elif child is parent or _is_named(parent, name, field):
            by_name[name] = "name"
    return declared | by_key | by_name


def _is_named(parent: EntityModel[Any], name: str, field: str) -> bool:
    """By the parent's name; fields before the last of its identity, as the parent calls them."""
    if field == list(identity_tags(parent))[-1]:
        return name_tag(name) == entity_tag(parent)
    return name == field and bool(name_tag(name))


def type_of(codec: Codec) -> tuple[Any, ...]:
    return codec.plain, codec.kinds


def _relation(parent: EntityModel[Any], child: EntityModel[Any], matched: tuple[dict[str, str], Basis]) -> Relation:
    fields, basis = matched
    return Relation(
        parent,
        child,
        fields,
        many=child is parent or not set(identity_tags(child)) <= fields.keys(),
        optional=any(child.codecs[field].absent is not None for field in fields),
        basis=basis,
        together=tuple(
            key.label
            for key in child.keys.values()
            if any(_share_partitions(mine, key, fields) for mine in parent.keys.values())
        ),
    )


def _share_partitions(parent: BoundKey[Any], child: BoundKey[Any], fields: Mapping[str, str]) -> bool:
    """Whether a child is in its parent's partition."""
    if parent.index is not child.index or parent.shards != child.shards or parent.shards > 1:
        return False
    return all(
        mine.template.literals == theirs.template.literals
        and [fields.get(field) for field in theirs.template.fields] == list(mine.template.fields)
        for mine, theirs in zip(parent.partition, child.partition, strict=True)
    ) and any(part.template.fields for part in child.partition)
