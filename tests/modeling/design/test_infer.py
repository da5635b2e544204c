"""Models from the items of tables: what is found, what is told of the rest, and that items come back as they were."""

from __future__ import annotations

from datetime import timedelta
from string import ascii_uppercase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.modeling.conftest import Recorder
from tests.modeling.design.proposals import KEYED, PK, SK, index, inferred, item
from tests.modeling.shop import MIDNIGHT, Address, Customer, Product, Status, order, shop
from torusdb.modeling import Store
from torusdb.modeling.design.tables import TableShape, live_shape
from torusdb.modeling.scalars import Item
from torusdb.modeling.table import KeyAttribute


def fill(store: Store) -> None:
    for number in range(30):
        address = Address("High Street", f"City {number}") if number % 2 else None
        email = f"c{number}@example.com" if number % 3 else None
        tags = {"new"} if number % 4 else set[str]()
        store.put(Customer(id=f"c{number}", name=f"Ann {number}", email=email, address=address, tags=tags))
        for each in range(3):
            comment = "soon" if each else None
            store.put(order(number * 10 + each, f"c{number}", list(Status)[each], comment=comment))
        store.put(Product(code=f"p{number}", name=f"Thing {number}", shelf=number % 7))


def shop_items(client: Recorder) -> tuple[TableShape, list[Item]]:
    shape = live_shape(client, shop.name)
    assert shape is not None
    return shape, client.scan(TableName=shop.name)["Items"]


def test_the_shop_is_found_again(store: Store, client: Recorder) -> None:
    fill(store)
    shape, items = shop_items(client)
    found = inferred(shape, items)
    assert (found.proof.exact, found.proof.items, found.proof.discrepancies) == (150, 150, [])
    assert found.lines_of("Customer") == [
        'key = Key("CUSTOMER#{id}", "PROFILE")',
        'by_emails = Key("EMAIL#{email}", "CUSTOMER", index=shop_emails)',
        "id: Attr[str]",
        "name: Attr[str]",
        "notes: Attr[list[str]]",
        "orders: Attr[int]",
        "tags: Attr[set[str]] = attr(default_factory=set)",
        "email: Attr[str | None] = attr(default=None)",
        "address: Attr[Address | None] = attr(default=None)",
    ]
    assert found.lines_of("Order")[:3] == [
        'key = Key("CUSTOMER#{customer}", "#ORDER#{number:newest_first}")',
        'by_gsi1 = Key("ORDERS#{status}", "{placed}#{number:08}", index=shop_gsi1)',
        'by_gsi2 = Key("{gsi2_pk}", "{placed}#{customer}", index=shop_gsi2)',
    ]
    assert "placed: Attr[datetime]" in found.lines_of("Order")
    assert found.lines_of("Product")[1] == 'by_gsi1 = Key("SHELF#{shelf}", "{label}", index=shop_gsi1)'
    assert "# perhaps an Enum or Literal: 'open': 30, 'paid': 30, 'sent': 30" in found.source
    assert "# in 20 of 30" in found.source


def test_without_a_type_attribute_entities_are_told_apart_by_their_keys(store: Store, client: Recorder) -> None:
    fill(store)
    shape, items = shop_items(client)
    for each in items:
        for name in ("_type", "id", "customer", "code"):
            each.pop(name, None)
    found = inferred(shape, items)
    assert (found.proof.exact, found.proof.items, found.proof.discrepancies) == (150, 150, [])
    assert list(found.table.entities) == ["Order", "CustomerProfile", "Product"]
    assert "customer: Attr[str] = attr(in_key=True)" in found.lines_of("Order")
    assert 'key = Key("CUSTOMER#{customer}", "PROFILE")' in found.lines_of("CustomerProfile")
    assert "# No attribute names the entity of an item" in found.source


def test_a_text_that_is_in_the_key_comes_before_a_number_that_happens_to_be_written_alike() -> None:
    items = [item(pk=f"PRODUCT#{number}", sk="INFO", sku=str(number), quantity=number) for number in (7, 8, 12)]
    found = inferred(KEYED, items)
    assert 'key = Key("PRODUCT#{sku}", "INFO")' in found.source
    assert found.proof.exact == 3


def test_numbers_and_binaries_as_keys() -> None:
    shape = TableShape("readings", KeyAttribute("device", "N"), KeyAttribute("raw", "B"))
    items = [item(device=number, raw=bytes([number, 1]), value=number + 0.5) for number in range(5)]
    found = inferred(shape, items)
    assert found.lines_of("Readings") == [
        'key = Key("{device}", "{raw}")',
        "device: Attr[int]",
        "raw: Attr[bytes]",
        "value: Attr[Decimal]",
    ]
    assert found.proof.exact == 5


def test_a_sparse_index_of_numbers() -> None:
    shape = KEYED._replace(indexes=(index("ranks", KeyAttribute("rank", "N"), SK),))
    items = [item(pk=f"P#{number}", sk="X", **({"rank": number} if number % 2 else {})) for number in range(6)]
    found = inferred(shape, items)
    assert found.lines_of("X") == [
        'key = Key("P#{p}", "X")',
        'by_ranks = Key("{rank}", "X", index=things_ranks)',
        "p: Attr[str] = attr(in_key=True)",
        "rank: Attr[int | None] = attr(default=None)",
    ]
    assert found.proof.exact == 6


def test_an_index_that_a_template_would_fill_too_much_keeps_its_own_attributes() -> None:
    """The mail of some is not in the index: a template of it would put them there."""
    shape = KEYED._replace(indexes=(index("gsi1", KeyAttribute("gsi1pk", "S")),))
    items = []
    for number in range(6):
        mail = f"m{number}@example.com"
        listed = {"gsi1pk": f"MAIL#{mail}"} if number % 2 else {}
        items.append(item(pk=f"USER#{number}", sk="USER", mail=mail, **listed))
    found = inferred(shape, items)
    assert found.proof.exact == 6
    assert 'by_gsi1 = Key("{gsi1_pk}", index=things_gsi1)' in found.lines_of("User")


def test_a_part_of_an_indexs_key_without_the_rest_is_left_out_and_told() -> None:
    shape = KEYED._replace(indexes=(index("gsi1", KeyAttribute("a", "S"), KeyAttribute("b", "S")),))
    items = [item(pk=f"P#{number}", sk="X", a="1") for number in range(3)]
    found = inferred(shape, items)
    assert "# Not in the model: a, a part of an index's key that no item here has all of" in found.source
    assert [(each.what, each.items) for each in found.proof.discrepancies] == [("a is not written again", 3)]


def propose_something(data: st.DataObject) -> None:
    """Whatever stands in a table: it loads, and each item either comes back or is listed."""
    texts = st.sampled_from(["A", "B#1", "B#2", "c#x#1", "ORDER#2024-01-01", "7", "007", "a|b", "{x}", "ä b", "X#"])
    values = st.one_of(texts, st.integers(-9, 9), st.booleans(), st.none(), st.binary(max_size=2), st.just(0.5))
    more = st.dictionaries(st.sampled_from(["type", "n", "A b", "key", "str", "m"]), values, max_size=4)
    deep = st.one_of(st.lists(values, max_size=2), st.dictionaries(texts, values, max_size=2))
    parts = st.dictionaries(st.sampled_from(["g1", "g2"]), texts, max_size=2)
    indexes = (
        index("first", KeyAttribute("g1", "S"), KeyAttribute("g2", "S")),
        index("second", KeyAttribute("g2", "S")),
        index("third", SK, KeyAttribute("rank", "N")),
    )
    items = {}
    for _ in range(data.draw(st.integers(1, 8))):
        made = item(pk=data.draw(texts), sk=data.draw(texts), **data.draw(parts), **data.draw(more))
        if data.draw(st.booleans()):
            made |= item(deep=data.draw(deep), rank=data.draw(st.integers(0, 9)))
        items[made["pk"]["S"], made["sk"]["S"]] = made
    found = inferred(KEYED._replace(indexes=indexes), list(items.values()))
    assert found.proof.exact + sum(each.items for each in found.proof.discrepancies) >= len(items)


@settings(max_examples=15)
@given(st.data())
def test_whatever_stands_in_a_table_something_is_proposed(data: st.DataObject) -> None:
    propose_something(data)


@pytest.mark.slow
@settings(max_examples=1000)
@given(st.data())
def test_whatever_stands_in_a_table_something_is_proposed_a_thousand_times(data: st.DataObject) -> None:
    propose_something(data)


def test_keys_in_the_manner_of_others() -> None:
    """Lower case, other separators, labels before and behind values, padded numbers, dates."""
    items = [
        item(pk=f"$app#user_{user}", sk=f"$order_1#date|2024-03-0{user + 1}#line|{line:05}", quantity=line)
        for user in range(4)
        for line in (1, 20, 300)
    ]
    found = inferred(KEYED, items)
    assert found.proof.exact == 12
    (entity,) = found.table.entities.values()
    assert [part.template.literals[0] for part in entity.primary.parts] == ["$app#", "$order_1#"]

    items = [item(pk=f"u/{user}", sk=f"day/2024-03-0{user + 1}/{line:05}/v0") for user in range(4) for line in (1, 20)]
    found = inferred(KEYED, items)
    assert found.proof.exact == 8
    assert found.lines_of("Day")[0] == 'key = Key("u/{u}", "day/{day}/{day_2:05}/v0")'
    assert "day: Attr[date] = attr(in_key=True)" in found.source


def test_time_to_live_is_a_datetime() -> None:
    shape = KEYED._replace(ttl="expires")
    seconds = int((MIDNIGHT + timedelta(days=1)).timestamp())
    items = [item(pk=f"S#{number}", sk="SESSION", expires=seconds + number) for number in range(4)]
    found = inferred(shape, items)
    assert "expires: Attr[datetime] = ttl()" in found.lines_of("Session")
    assert found.table.ttl_attribute == "expires"
    assert found.proof.exact == 4
    broken = [*items, item(pk="S#x", sk="SESSION", expires=1.5)]
    found = inferred(shape, broken)
    assert "expires: Attr[Decimal]" in found.lines_of("Session"), "one that no ttl() could read"
    assert found.proof.exact == 5


def test_a_type_that_keys_do_not_follow_is_an_attribute_as_any_other() -> None:
    items = [item(pk=f"{number}", sk=f"{number}", type="cat" if number % 2 else "dog") for number in range(10)]
    found = inferred(KEYED, items)
    assert found.lines_of("Things")[-1] == "type: Attr[str]"
    assert found.proof.exact == 10


def test_entities_with_one_key_become_one_and_that_is_told() -> None:
    """Their labels make two shapes, and the texts behind them one template: what is behind # may be anything."""
    items = [item(pk=f"{number}", sk=f"x{number}", type="cat") for number in range(3)]
    items += [item(pk=f"{number}", sk="META", type="dog") for number in range(3)]
    found = inferred(KEYED, items)
    assert list(found.table.entities) == ["cat"]
    assert "# Of several types, whose keys cannot be told apart: cat: 3, dog: 3" in found.source
    assert found.proof.exact == 3
    (listed,) = found.proof.discrepancies
    assert str(listed) == "no entity: its type is none of them (3 items, as '0', 'META')"


def test_what_has_no_type_is_left_out_and_listed() -> None:
    items = [item(pk=f"A#{number}", sk="A", mixed={"a"} if number % 2 else "a", gone=None) for number in range(4)]
    found = inferred(KEYED, items)
    assert "# Not in the model: mixed, which is S, SS in turn" in found.source
    assert [(each.entity, each.what, each.items) for each in found.proof.discrepancies] == [
        ("A", "gone is not written again (NULL, which is read as None and left out)", 4),
        ("A", "mixed is not written again", 4),
    ]
    assert found.proof.exact == 0


def test_a_messy_table_is_told_as_it_is() -> None:
    """Ids without labels, two separators, a key with the braces of templates, unrelated shapes, deep values."""
    items = [item(pk=f"{number}", sk="2024-01-01", n=number) for number in range(5)]
    items += [item(pk=f"LOG#{number}", sk=f"a|b|{number}", text="x") for number in range(5)]
    items += [item(pk="CONFIG", sk="{json}", value={"deep": {"er": [1, "two", None]}})]
    items += [item(pk=f"LOG#{number}#retry", sk="a", text=number) for number in range(2)]
    found = inferred(KEYED, items)
    assert found.proof.exact == 13, found.source
    assert found.proof.discrepancies == []
    assert sorted(found.table.entities) == ["A", "AB", "Config", "Things"]
    assert "er: list[int | str | None]" in found.source.replace("str | int", "int | str")


def test_so_many_shapes_are_no_entities() -> None:
    """Each word is a label, since it comes three times before others; there are more of them than entities."""
    words = [f"{first}{second}" for first in ascii_uppercase[:8] for second in ascii_uppercase[:8]]
    items = [item(pk=f"{word}#{number}", sk="X") for word in words for number in range(3)]
    found = inferred(KEYED, items)
    assert len(found.table.entities) == 40
    assert "# Left out: 72 items with keys of 24 more forms." in found.source
    assert found.proof.exact == 120
    assert [(each.what, each.items) for each in found.proof.discrepancies] == [("its key is of none of them", 72)]


def test_an_empty_table_has_its_keys_and_no_entities() -> None:
    found = inferred(KEYED._replace(indexes=(index("gsi1", PK, SK),)), [])
    assert (list(found.table.entities), found.table.partition) == ([], [PK])
