"""The rules for key attributes in requests, with the service's words. Every operation checks keys here."""

from __future__ import annotations

from torusdb.errors import EmptyKeyValue, ValidationException
from torusdb.model.attributes import AttributeValue, Item
from torusdb.model.keys import KeyAttribute
from torusdb.model.schema import Index, Table

HASH_KEY_BYTES_MAX = 2048
RANGE_KEY_BYTES_MAX = 1024

INVALID = "One or more parameter values were invalid: "
NOT_VALID = "One or more parameter values are not valid. "
KEY_MISMATCH = "The provided key element does not match the schema"
_UPDATED = "The update expression attempted to update the secondary index key"
_EMPTY_KIND = {"S": "string", "B": "binary"}


def check_key(table: Table, key: Item) -> None:
    """A `Key` member: exactly the table's key attributes, of their types, not empty, not too long."""
    keys = table.keys
    if len(key) != len(keys):
        raise ValidationException(KEY_MISMATCH)
    for attribute in keys:
        check_key_value(attribute, key.get(attribute.name), is_hash=attribute is keys[0])


def check_key_value(attribute: KeyAttribute, value: AttributeValue | None, is_hash: bool) -> None:
    if value is None or attribute.type not in value:
        raise ValidationException(KEY_MISMATCH)
    _check_key_content(attribute, value, is_hash)


def check_item_keys(table: Table, item: Item) -> None:
    """The key attributes within a whole item that is to be stored, then those of the table's indexes."""
    keys = table.keys
    for attribute in keys:
        value = item.get(attribute.name)
        if value is None:
            raise ValidationException(f"{INVALID}Missing the key {attribute.name} in the item")
        if attribute.type not in value:
            raise ValidationException(
                f"{INVALID}Type mismatch for key {attribute.name} expected: {attribute.type} actual: {type_of(value)}"
            )
        _check_key_content(attribute, value, is_hash=attribute is keys[0])
    if table.indexes:
        check_index_keys(table, item)


def check_batch_item_keys(table: Table, item: Item) -> None:
    """Before `check_item_keys`: in a batch a missing or mistyped key has the words of a wrong `Key` (measured)."""
    for attribute in table.keys:
        if attribute.type not in item.get(attribute.name, ()):
            raise ValidationException(KEY_MISMATCH)


def check_index_keys(table: Table, item: Item) -> None:
    """Index key attributes that are present must fit. Of several faults the service names the index that comes first
    in the alphabet (measured)."""
    for index in sorted(table.indexes, key=_name_of):
        for attribute in index.keys:
            value = item.get(attribute.name)
            if value is not None:
                _check_index_key(index, attribute, value)


def check_updated_index_keys(table: Table, before: Item, after: Item) -> None:
    """Index key attributes that an update changed must fit, which only the new item shows."""
    for index in sorted(table.indexes, key=_name_of):
        for attribute in index.keys:
            value = after.get(attribute.name)
            if value is not None and value != before.get(attribute.name):
                _check_updated_index_key(index, attribute, value)


def check_index_key_types(table: Table, types: dict[str, str]) -> None:
    """Before an update looks at the item: the types it will give to index key attributes, where its request says."""
    for index in table.indexes:
        for attribute in index.keys:
            actual = types.get(attribute.name)
            if actual is not None and actual != attribute.type:
                raise ValidationException(_index_key_mismatch(index, attribute, actual))


def _index_key_mismatch(index: Index, attribute: KeyAttribute, actual: str) -> str:
    return (
        f"{INVALID}Type mismatch for Index Key {attribute.name} Expected: {attribute.type} "
        f"Actual: {actual} IndexName: {index.name}"
    )


def _name_of(index: Index) -> str:
    return index.name


def _check_index_key(index: Index, attribute: KeyAttribute, value: AttributeValue) -> None:
    if attribute.type not in value:
        raise ValidationException(_index_key_mismatch(index, attribute, type_of(value)))
    kind = _EMPTY_KIND.get(attribute.type)
    if kind and not value[attribute.type]:
        raise EmptyKeyValue(
            f"{NOT_VALID}A value specified for a secondary index key is not supported. The AttributeValue for a key "
            f"attribute cannot contain an empty {kind} value. IndexName: {index.name}, IndexKey: {attribute.name}"
        )
    _check_key_bytes(attribute, value, is_hash=attribute in index.hash_keys)


def _check_updated_index_key(index: Index, attribute: KeyAttribute, value: AttributeValue) -> None:
    """Of type and size the service's words are those that TransactWriteItems documents for an update (API reference,
    "Validation Error")."""
    if attribute.type not in value:
        raise ValidationException(f"{_UPDATED} to unsupported type")
    kind = _EMPTY_KIND.get(attribute.type)
    if kind and not value[attribute.type]:
        raise EmptyKeyValue(
            f"{NOT_VALID}The update expression attempted to update a secondary index key to a value that is not "
            f"supported. The AttributeValue for a key attribute cannot contain an empty {kind} value."
        )
    is_hash = attribute in index.hash_keys
    if _key_bytes(attribute, value) > (HASH_KEY_BYTES_MAX if is_hash else RANGE_KEY_BYTES_MAX):
        raise ValidationException(f"{_UPDATED} beyond allowed size limits")


def _check_key_content(attribute: KeyAttribute, value: AttributeValue, is_hash: bool) -> None:
    if attribute.type != "N":
        if not value[attribute.type]:
            raise EmptyKeyValue(
                f"{NOT_VALID}The AttributeValue for a key attribute cannot contain an empty "
                f"{_EMPTY_KIND[attribute.type]} value. Key: {attribute.name}"
            )
        _check_key_bytes(attribute, value, is_hash)


def _check_key_bytes(attribute: KeyAttribute, value: AttributeValue, is_hash: bool) -> None:
    size = _key_bytes(attribute, value)
    if is_hash and size > HASH_KEY_BYTES_MAX:
        # "of2048": the service's own words.
        raise ValidationException(
            f"{INVALID}Size of hashkey has exceeded the maximum size limit of{HASH_KEY_BYTES_MAX} bytes"
        )
    if not is_hash and size > RANGE_KEY_BYTES_MAX:
        raise ValidationException(
            f"{INVALID}Aggregated size of all range keys has exceeded the size limit of {RANGE_KEY_BYTES_MAX} bytes"
        )


def _key_bytes(attribute: KeyAttribute, value: AttributeValue) -> int:
    """The size of a key's value where there is a limit to it: numbers have theirs from their digits."""
    if attribute.type == "N":
        return 0
    content = value[attribute.type]
    return len(content.encode()) if attribute.type == "S" and not content.isascii() else len(content)


def type_of(value: AttributeValue) -> str:
    return next(iter(value))
