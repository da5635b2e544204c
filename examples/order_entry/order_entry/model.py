"""The whole data model: one table, three indexes, every entity, and the fourteen questions it is made for.

Read it from the end: the questions come last, each says which index and which key answer it, and `python -m order_entry
patterns` prints what is sent for each. All of an entity is in its class: its attributes, the key under which it is
stored, and one key for each index that it can be found by. An entity without a key of an index is not in that index.

Four ideas carry the design:

- **Item collections.** What is read together shares a partition: an employee with the history of their jobs, an order
  with its items. One query reads it all.
- **Overloading.** The indexes have no meaning of their own; what their keys hold differs from entity to entity, and
  never collides, since each template begins with a word of its own.
- **Write sharding.** "All orders that are open" would be one partition, and every new order would be written to it. In
  the second index such a partition is fifteen, by a checksum of the order's number; a question asks all fifteen at once
  and merges what they answer by date.
- **What is counted is stored.** The stock of a product over all warehouses is changed in the transaction that changes a
  warehouse's (`stock.py`, `orders.py`); the ranking of representatives follows the table's stream (`ranking.py`).
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Final

from torusdb.modeling import (
    Attr,
    Entity,
    Get,
    GlobalIndex,
    Key,
    Query,
    Table,
    attr,
    collection,
    computed,
    pattern,
)

SHARDS: Final = 15

by_group = GlobalIndex("gsi1", partition_key="gsi1pk", sort_key="gsi1sk")
"""What belongs together: people of one name or job title, a customer's orders, a quarter's ranking."""
by_date = GlobalIndex("gsi2", partition_key="gsi2pk", sort_key="gsi2sk")
"""All there is of one kind, by date. Write-sharded: each of its partitions is SHARDS partitions."""
reverse = GlobalIndex("gsi3", partition_key="gsi3pk", sort_key="gsi3sk")
"""From what is referred to, to what refers to it: a product to its order items and inventories, a warehouse to its
people, a representative to customers and orders. Its keys are the table's the other way round, in attributes of their
own, so that only what is looked up in reverse is in it."""

table = Table("order_entry", partition_key="pk", sort_key="sk", indexes=[by_group, by_date, reverse])


# ---------------------------------------------------------------------------------------------------------- places


class Region(Entity, table=table):
    key = Key("REGION#{id}", "REGION")
    id: Attr[str]
    name: Attr[str]


class Country(Entity, table=table):
    key = Key("COUNTRY#{id}", "COUNTRY")
    of_region = Key("REGION#{region}", "COUNTRY#{id}", index=by_group)
    id: Attr[str]
    name: Attr[str]
    region: Attr[str]


class Location(Entity, table=table):
    key = Key("LOCATION#{id}", "LOCATION")
    of_country = Key("COUNTRY#{country}", "LOCATION#{id}", index=by_group)
    id: Attr[str]
    street: Attr[str]
    postal_code: Attr[str]
    city: Attr[str]
    country: Attr[str]


class Department(Entity, table=table):
    key = Key("DEPARTMENT#{id}", "DEPARTMENT")
    at_location = Key("LOCATION#{location}", "DEPARTMENT#{id}", index=by_group)
    id: Attr[str]
    name: Attr[str]
    location: Attr[str]
    manager: Attr[str | None] = attr(default=None)


# ---------------------------------------------------------------------------------------------------------- people


REPRESENTATIVE: Final = "SA_REP"
"""The job of those who look after customers."""


class Job(Entity, table=table):
    key = Key("JOB#{id}", "JOB")
    id: Attr[str]
    title: Attr[str]
    min_salary: Attr[Decimal]
    max_salary: Attr[Decimal]


class Employee(Entity, table=table):
    """What is true of a person whatever their job is. Those who work in no warehouse are not in the third index."""

    key = Key("EMPLOYEE#{id}", "EMPLOYEE")
    by_name = Key("NAME#{last_name}", "{first_name}#{id}", index=by_group)
    by_hire_date = Key("EMPLOYEES", "{hired}#{id}", index=by_date, shards=SHARDS, shard_by="id")
    in_warehouse = Key("WAREHOUSE#{warehouse}", "EMPLOYEE#{last_name}#{first_name}#{id}", index=reverse)
    id: Attr[str]
    first_name: Attr[str]
    last_name: Attr[str]
    email: Attr[str]
    phone: Attr[str]
    hired: Attr[date]
    salary: Attr[Decimal]
    manager: Attr[str | None] = attr(default=None)
    warehouse: Attr[str | None] = attr(default=None)


class Assignment(Entity, table=table):
    """A job that an employee has or had, newest first. Only the one that has not ended is found by its title:
    `current_title` is None in all others, which keeps them out of the index."""

    key = Key("EMPLOYEE#{employee}", "JOB#{since:newest_first}")
    by_title = Key("TITLE#{current_title}", "{name}#{employee}", index=by_group)
    employee: Attr[str]
    since: Attr[date]
    until: Attr[date | None] = attr(default=None)
    job: Attr[str]
    title: Attr[str]
    department: Attr[str]
    name: Attr[str]
    current_title: Attr[str | None] = computed(
        lambda each: each.title if each.until is None else None, needs=["title", "until"]
    )


class Quota(Entity, table=table):
    """What a representative is to sell in a quarter, such as "2026-Q1"."""

    key = Key("EMPLOYEE#{employee}", "QUOTA#{quarter}")
    employee: Attr[str]
    quarter: Attr[str]
    amount: Attr[Decimal]


class Sales(Entity, table=table):
    """What a representative has sold in a quarter: kept by `ranking.py`, and sorted by the total."""

    key = Key("EMPLOYEE#{employee}", "SALES#{quarter}")
    by_rank = Key("SALES#{quarter}", "{total:015.2}#{employee}", index=by_group)
    employee: Attr[str]
    quarter: Attr[str]
    total: Attr[Decimal]
    orders: Attr[int]


# ----------------------------------------------------------------------------------------------- customers, orders


class Customer(Entity, table=table):
    key = Key("CUSTOMER#{id}", "CUSTOMER")
    of_representative = Key("REPRESENTATIVE#{representative}", "CUSTOMER#{name}#{id}", index=reverse)
    id: Attr[str]
    name: Attr[str]
    email: Attr[str]
    country: Attr[str]
    credit_limit: Attr[Decimal]
    representative: Attr[str]


class Status(Enum):
    OPEN = "OPEN"
    PACKED = "PACKED"
    SHIPPED = "SHIPPED"
    DELIVERED = "DELIVERED"
    CANCELLED = "CANCELLED"


class Order(Entity, table=table):
    """`representative`: the customer's when the order was placed, who keeps it. `revision` counts the order's changes;
    by it the ranking knows an old record of the stream from a new one."""

    key = Key("ORDER#{number}", "ORDER")
    of_customer = Key("CUSTOMER#{customer}", "{status}#{placed}#{number}", index=by_group)
    by_status = Key("ORDERS#{status}", "{placed}#{number}", index=by_date, shards=SHARDS, shard_by="number")
    of_representative = Key("REPRESENTATIVE#{representative}", "ORDER#{placed}#{number}", index=reverse)
    number: Attr[str]
    customer: Attr[str]
    representative: Attr[str]
    placed: Attr[datetime]
    status: Attr[Status]
    total: Attr[Decimal]
    revision: Attr[int] = attr(default=1)


class OrderItem(Entity, table=table):
    key = Key("ORDER#{order}", "ITEM#{line:03}")
    of_product = Key("PRODUCT#{product}", "ORDER#{order}#{line:03}", index=reverse)
    order: Attr[str]
    line: Attr[int]
    product: Attr[str]
    warehouse: Attr[str]
    quantity: Attr[int]
    unit_price: Attr[Decimal]


class Credit(Entity, table=table):
    """What an order counts for in the ranking, and as of which of its revisions: the memory of `ranking.py`."""

    key = Key("CREDIT#{order}", "CREDIT")
    order: Attr[str]
    revision: Attr[int]
    representative: Attr[str]
    quarter: Attr[str]
    total: Attr[Decimal]
    counts: Attr[bool]


# --------------------------------------------------------------------------------------------------------- products


class Product(Entity, table=table):
    """`stock`: over all warehouses, changed in the same transaction as each of them."""

    key = Key("PRODUCT#{id}", "PRODUCT")
    id: Attr[str]
    name: Attr[str]
    category: Attr[str]
    list_price: Attr[Decimal]
    stock: Attr[int] = attr(default=0)


class Warehouse(Entity, table=table):
    key = Key("WAREHOUSE#{id}", "WAREHOUSE")
    at_location = Key("LOCATION#{location}", "WAREHOUSE#{id}", index=by_group)
    id: Attr[str]
    name: Attr[str]
    location: Attr[str]


class Inventory(Entity, table=table):
    """How many of a product are in a warehouse; never below zero."""

    key = Key("WAREHOUSE#{warehouse}", "PRODUCT#{product}")
    of_product = Key("PRODUCT#{product}", "INVENTORY#{warehouse}", index=reverse)
    warehouse: Attr[str]
    product: Attr[str]
    quantity: Attr[int]


# ---------------------------------------------------------------------------------------- the fourteen access patterns


@pattern("1. Employee details by id: the person, all their jobs, quotas and sales. Table, pk = EMPLOYEE#<id>")
def employee_details(employee: str) -> Query[Employee | Assignment | Quota | Sales]:
    everything = collection(Employee.key, Assignment.key, Quota.key, Sales.key)
    return everything.query(Employee.id == employee)


@pattern("2. Employees by name. gsi1, NAME#<last name>, all or those whose first name is given")
def employees_by_name(last_name: str, first_name: str | None = None) -> Query[Employee]:
    conditions = [Employee.last_name == last_name]
    if first_name is not None:
        conditions.append(Employee.first_name == first_name)
    return Employee.by_name.query(*conditions)


@pattern("3. An employee's current job. Table, pk = EMPLOYEE#<id>, the first that begins with JOB#: the newest")
def current_job(employee: str) -> Query[Assignment]:
    return Assignment.key.query(Assignment.employee == employee).limit(1)


@pattern("4. A customer's orders of a status in a range of days. gsi1, CUSTOMER#<id>, between <status>#<day>s")
def orders_of_customer(customer: str, status: Status, since: date, until: date) -> Query[Order]:
    return Order.of_customer.query(
        Order.customer == customer, Order.status == status, Order.placed.between(since, until)
    )


@pattern(
    "5. All orders of a status in a range of days, oldest first. gsi2, ORDERS#<status> in 15 shards, between <day>s"
)
def orders_by_status(status: Status, since: date, until: date) -> Query[Order]:
    return Order.by_status.query(Order.status == status, Order.placed.between(since, until))


@pattern("6. Employees hired since a day, first hired first. gsi2, EMPLOYEES in 15 shards, from <day>")
def employees_hired_since(day: date) -> Query[Employee]:
    return Employee.by_hire_date.query(Employee.hired >= day)


@pattern("7. Employees in a warehouse, by name. gsi3, WAREHOUSE#<id>, begins with EMPLOYEE#")
def employees_in_warehouse(warehouse: str) -> Query[Employee]:
    return Employee.in_warehouse.query(Employee.warehouse == warehouse)


@pattern("8. Order items of a product with its inventories, which come first. gsi3, PRODUCT#<id>, INVENTORY# to ORDER#")
def product_demand_and_supply(product: str) -> Query[Inventory | OrderItem]:
    return collection(Inventory.of_product, OrderItem.of_product).query(Inventory.product == product)


@pattern("9. Customers of an account representative, by name. gsi3, REPRESENTATIVE#<id>, begins with CUSTOMER#")
def customers_of_representative(representative: str) -> Query[Customer]:
    return Customer.of_representative.query(Customer.representative == representative)


@pattern("10. Orders of a representative in a range of days. gsi3, REPRESENTATIVE#<id>, between ORDER#<day>s")
def orders_of_representative(representative: str, since: date, until: date) -> Query[Order]:
    return Order.of_representative.query(Order.representative == representative, Order.placed.between(since, until))


@pattern("11. Employees who have a job title, by name. gsi1, TITLE#<title>")
def employees_by_title(title: str) -> Query[Assignment]:
    return Assignment.by_title.query(Assignment.current_title == title)


@pattern("12. Inventory of a product in a warehouse. Table, pk = WAREHOUSE#<id>, sk = PRODUCT#<id>")
def inventory(product: str, warehouse: str) -> Get[Inventory]:
    return Get(Inventory, warehouse=warehouse, product=product)


@pattern("13. Total inventory of a product. Table, pk = PRODUCT#<id>, sk = PRODUCT: it is kept, not summed")
def total_inventory(product: str) -> Get[Product]:
    return Get(Product, id=product)


@pattern("14. Representatives by order total in a quarter, highest first. gsi1, SALES#<quarter>, backward")
def ranking(quarter: str) -> Query[Sales]:
    return Sales.by_rank.query(Sales.quarter == quarter).reverse()


FOURTEEN: Final = dict(table.patterns)
"""By name; what follows is not one of them, but an order is nothing without its items."""


@pattern("An order with its items. Table, pk = ORDER#<number>")
def order_with_items(order: str) -> Query[OrderItem | Order]:
    return collection(OrderItem.key, Order.key).query(OrderItem.order == order)


def quarter_of(day: date) -> str:
    return f"{day.year}-Q{(day.month + 2) // 3}"
