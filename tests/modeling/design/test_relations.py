from __future__ import annotations

import pytest

from tests.modeling import shop as shop_model
from tests.modeling.design.designs import design_from
from torusdb.modeling import ModelError
from torusdb.modeling.design import design_of, relations_of
from torusdb.modeling.design.relations import many_to_many, name_tag

TABLE = """
swapped = GlobalIndex("swapped", partition_key="sk", sort_key="pk")
by_group = GlobalIndex("groups", partition_key="group_pk", sort_key="group_sk")
t = Table("things", partition_key="pk", sort_key="sk", indexes=[swapped, by_group])
"""


def told(source: str, table: str = TABLE) -> list[str]:
    return [
        f"{each.parent.name} {'1:n' if each.many else '1:1'}{'?' * each.optional} "
        f"{each.child.name}.{'+'.join(each.fields)} by {each.basis}"
        + (f" together {' '.join(each.together)}" if each.together else "")
        for each in relations_of(design_from(table + source).tables)
    ]


def entity(name: str, key: str, *attributes: str, more: str = "") -> str:
    return f"class {name}(Entity, table=t):\n    key = Key({key})\n{more}" + "".join(
        f"    {each}\n" for each in attributes
    )


CUSTOMER = entity("Customer", '"CUSTOMER#{id}", "PROFILE"', "id: Attr[str]", "email: Attr[str]")
ORDER = entity("Order", '"CUSTOMER#{customer}", "ORDER#{number:08}"', "customer: Attr[str]", "number: Attr[int]")


def test_the_shop() -> None:
    (found,) = relations_of(design_of(shop_model).tables)
    assert (found.parent.name, found.child.name, found.fields) == ("Customer", "Order", {"customer": "id"})
    assert (found.many, found.optional, found.basis, found.together) == (True, False, "key", ("Order.key",))


def test_the_word_before_a_field_says_whose_identity_it_is() -> None:
    assert told(CUSTOMER + ORDER) == ["Customer 1:n Order.customer by key together Order.key"]


def test_a_level_below_refers_to_the_whole_of_what_is_above() -> None:
    line = entity(
        "Line",
        '"CUSTOMER#{buyer}", "ORDER#{order:08}#LINE#{line:03}"',
        *("buyer: Attr[str]", "order: Attr[int]", "line: Attr[int]"),
    )
    assert told(CUSTOMER + ORDER + line)[1:] == [
        "Customer 1:n Line.buyer by key together Line.key",
        "Order 1:n Line.buyer+order by key together Line.key",
    ]


def test_who_has_the_identity_of_another_and_no_more_is_one_to_one_with_it() -> None:
    settings = entity("Settings", '"CUSTOMER#{customer}", "SETTINGS"', "customer: Attr[str]")
    wanted = ["Customer 1:1 Settings.customer by key together Settings.key"]
    assert told(CUSTOMER + settings) == wanted
    assert told(settings + CUSTOMER) == wanted, "whichever comes first: the word names the customer"


def test_an_index_says_it_too_and_a_field_that_can_be_none_makes_it_optional() -> None:
    key = '    of_customer = Key("CUSTOMER#{buyer}", "INVOICE#{number}", index=by_group)\n'
    invoice = entity(
        "Invoice", '"INVOICE#{number}", "INVOICE"', "number: Attr[str]", "buyer: Attr[str | None] = None", more=key
    )
    assert told(CUSTOMER + invoice) == ["Customer 1:n? Invoice.buyer by key"]


def test_a_lookup_by_another_attribute_is_no_relation() -> None:
    key = '    by_email = Key("CUSTOMER#{email}", "X", index=by_group)\n'
    customer = entity("Customer", '"CUSTOMER#{id}", "PROFILE"', "id: Attr[str]", "email: Attr[str]", more=key)
    contact = entity("Contact", '"CONTACT#{number}", "X"', "number: Attr[int]", "email: Attr[str]", more=key)
    assert told(customer + contact) == []


def test_names_say_it_where_no_key_does_and_types_must_agree() -> None:
    other = "n: Attr[int]"
    for attribute, wanted in [
        ("customer: Attr[str]", ["Customer 1:n Note.customer by name"]),
        ("customer_id: Attr[str]", ["Customer 1:n Note.customer_id by name"]),
        ("customerId: Attr[str]", ["Customer 1:n Note.customerId by name"]),
        ("customer: Attr[int]", []),
        ("id: Attr[str]", []),
        ("seller: Attr[str]", []),
    ]:
        assert told(CUSTOMER + entity("Note", '"NOTE#{n}", "NOTE"', other, attribute)) == wanted


def test_many_to_many_through_what_is_made_of_both() -> None:
    product = entity("Product", '"PRODUCT#{code}", "PRODUCT"', "code: Attr[str]")
    wish = entity("Wish", '"CUSTOMER#{who}", "PRODUCT#{what}"', "who: Attr[str]", "what: Attr[str]")
    assert told(CUSTOMER + product + wish) == [
        "Customer 1:n Wish.who by key together Wish.key",
        "Product 1:n Wish.what by key",
    ]
    relations = relations_of(design_from(TABLE + CUSTOMER + product + wish + ORDER).tables)
    assert [[each.name for each in found] for found in many_to_many(relations)] == [["Customer", "Product", "Wish"]]


def test_parents_of_their_own_kind_are_told_by_their_name_only() -> None:
    category = entity("Category", '"CATEGORY#{id}", "X"', "id: Attr[str]", "parent: Attr[str | None] = None")
    assert told(category) == ["Category 1:n? Category.parent by name"]


def test_plain_keys_without_words_are_told_by_their_names() -> None:
    table = 't = Table("things", partition_key="pk", sort_key="sk")\n'
    user = entity("User", '"{id}", "USER"', "id: Attr[str]")
    post = entity("Post", '"{user}", "POST#{number:04}"', "user: Attr[str]", "number: Attr[int]")
    group = entity("Group", '"{id}", "GROUP"', "id: Attr[str]")
    assert told(user + post + group, table) == ["User 1:n Post.user by name together Post.key"]


@pytest.mark.parametrize(
    ("name", "tag"),
    [("customer", "customer"), ("customer_id", "customer"), ("customerId", "customer"), ("id", ""), ("urlKey", "url")],
)
def test_tags_of_names(name: str, tag: str) -> None:
    assert name_tag(name) == tag


PERSON = entity(
    "Person", '"PERSON#{id}", "PERSON"', "id: Attr[str]", 'boss: Attr[str | None] = attr(refers_to="Person")'
)


def test_the_author_says_what_nothing_else_does() -> None:
    ticket = entity("Ticket", '"TICKET#{id}", "TICKET"', "id: Attr[int]", "solver: Attr[str] = attr(refers_to=Person)")
    assert told(PERSON + ticket) == [
        "Person 1:n? Person.boss by declared",
        "Person 1:n Ticket.solver by declared",
    ]


def test_what_the_author_says_goes_before_names_and_keys() -> None:
    ticket = entity(
        "Ticket",
        '"CUSTOMER#{person}", "TICKET#{id:03}"',
        "id: Attr[int]",
        'person: Attr[str] = attr(refers_to="Person")',
    )
    assert told(PERSON + CUSTOMER + ticket)[1:] == ["Person 1:n Ticket.person by declared"]


@pytest.mark.parametrize(
    "attribute", ['other: Attr[int] = attr(refers_to="Person")', 'other: Attr[str] = attr(refers_to="Nobody")']
)
def test_what_cannot_be_referred_to_is_refused(attribute: str) -> None:
    ticket = entity("Ticket", '"TICKET#{id}", "TICKET"', "id: Attr[int]", attribute)
    with pytest.raises(ModelError, match=r"^Ticket\.other refers to \w+, which is no entity here whose key ends with"):
        told(PERSON + ticket)
