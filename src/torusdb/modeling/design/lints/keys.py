"""Rules on keys: into how many partitions they spread, and what stands in them."""

from __future__ import annotations

from datetime import date
from typing import Any, Final

from torusdb.modeling.design.facts import Facts
from torusdb.modeling.design.lints.findings import Remarks, note, warning
from torusdb.modeling.design.loads import own_index, possible_partitions
from torusdb.modeling.design.sizes import choices
from torusdb.modeling.keys import BoundKey
from torusdb.modeling.table import LocalIndex

TABLES_OF_ONE_ENTITY_MIN: Final = 2


def low_cardinality(facts: Facts) -> Remarks:
    """Few partition keys share all of the load. With volumes and rates it is `hot_keys` that judges it."""
    for key in facts.keys:
        possible = possible_partitions(key)
        if possible is None or isinstance(key.index, LocalIndex) or _is_judged(facts, key):
            continue
        spread = possible * key.shards
        known = "one partition key" if spread == 1 else f"{spread} partition keys at most"
        yield warning(
            key,
            f"all {key.model.name} entities share {known} ({_templates(key)}), whose reads and writes one partition "
            f"each has to bear; give a Workload a Volume({key.model.name}, …) and a Rate(…) of each pattern that reads "
            "it, so that it can be judged, or "
            + ("spread it with shards= and shard_by=" if key.shards == 1 else "raise the number of its shards"),
        )


def _is_judged(facts: Facts, key: BoundKey[Any]) -> bool:
    readers = [access for access in facts.accesses.values() if key in access.keys]
    volume = facts.volume(key.model)
    known = volume is not None and volume.writes_per_second is not None
    return known and all(facts.rate(access.pattern) for access in readers)


def date_partitions(facts: Facts) -> Remarks:
    """Of a series in time, only the newest partition is written."""
    for key in facts.keys:
        fields = [field for part in key.partition for field in part.template.fields]
        codecs = [key.model.codecs[field] for field in fields]
        open_ended = [codec for codec in codecs if choices(codec) is None]
        if not open_ended or any(codec.plain is not date for codec in open_ended) or key.shards > 1:
            continue
        if isinstance(key.index, LocalIndex) or _is_given(facts, key):
            continue
        yield warning(
            key,
            f"the partition key ({_templates(key)}) grows by date only, so that all writes of a day go to one "
            f"partition; say how many in Volume({key.model.name}, hottest_writes={{{key.label}: …}}), or spread it "
            "with shards= and shard_by=",
        )


def _is_given(facts: Facts, key: BoundKey[Any]) -> bool:
    volume = facts.volume(key.model)
    named = key.model.primary if own_index(key) is None else key
    return volume is not None and (named in volume.hottest or volume.writes_per_second == 0)


def texts_before_separators(facts: Facts) -> Remarks:
    """A text that holds what ends it in the key cannot be written."""
    for key in facts.keys:
        parts = key.sort if isinstance(key.index, LocalIndex) else key.parts
        for part in parts:
            template = part.template
            for each, following in zip(template.formats, template.literals[1:], strict=True):
                if each.is_text and following and template.kind == "S":
                    yield note(
                        key,
                        f"{{{each.field}}} is free text before {following!r} in {template.source!r}, and a value that "
                        f"holds {following!r} is refused when it is written; make it a UUID or an Enum, put it last, "
                        "or see to it that it never does",
                    )


def confusable_keys(facts: Facts) -> Remarks:
    """Keys of two entities that are the same if a text looks like more fields."""
    for model in facts.models:
        for rival in model.rivals:
            if model.name < rival.model.name:
                yield warning(
                    model.primary,
                    f"{_templates(model.primary, whole=True)} can be the same key as {rival.label} "
                    f"({_templates(rival, whole=True)}) where a text holds a separator, which is refused when it is "
                    "written; begin the templates with different literals",
                )


def changing_keys(facts: Facts) -> Remarks:
    """What changes with every write has no place in a key."""
    for key in facts.keys:
        for field in key.fields:
            role = key.model.attributes[field]._declared.role
            if role == "value" or (isinstance(key.index, LocalIndex) and field not in _sort_fields(key)):
                continue
            what = "version" if role == "version" else "time to live"
            often = "every write" if role == "version" else "every write that moves it"
            cost = "makes another item of it" if key.index is None else "moves its entry in the index, which costs two"
            yield warning(
                key, f"{{{field}}} is a {what}, and {often} {cost}; take an attribute that stays as it was written"
            )


def one_entity_tables(facts: Facts) -> Remarks:
    """Tables as in a relational database: what is read together stands apart."""
    alone = [table for table in facts.design.tables if len(table.entities) == 1]
    if len(alone) < TABLES_OF_ONE_ENTITY_MIN:
        return
    for table in alone:
        (model,) = table.entities.values()
        yield note(
            table,
            f"it holds {model.name} alone, and {len(alone)} tables of the design hold one entity each, which no "
            "query can read together; put what is read together into one table, as an item collection",
        )


def _sort_fields(key: BoundKey[Any]) -> set[str]:
    return {field for part in key.sort for field in part.template.fields}


def _templates(key: BoundKey[Any], *, whole: bool = False) -> str:
    return ", ".join(repr(part.template.source) for part in (key.parts if whole else key.partition))


RULES: Final = (
    low_cardinality,
    date_partitions,
    texts_before_separators,
    confusable_keys,
    changing_keys,
    one_entity_tables,
)
