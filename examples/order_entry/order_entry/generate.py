"""Data of any size. The same number of customers and the same seed give the same entities, in the same order.

All else follows from the number of customers, so that ten times the customers are ten times the data of every kind, and
what one of them has (orders of a customer, people in a warehouse) stays what it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import islice
from random import Random
from typing import Final

from order_entry import words
from order_entry.model import (
    REPRESENTATIVE,
    Assignment,
    Country,
    Customer,
    Department,
    Employee,
    Inventory,
    Job,
    Location,
    Order,
    OrderItem,
    Product,
    Quota,
    Region,
    Sales,
    Status,
    Warehouse,
    quarter_of,
)
from order_entry.ranking import credit_of
from torusdb.modeling import Entity, Store

LAST_DAY: Final = date(2026, 3, 31)
ORDER_DAYS: Final = 720
"""Orders are of the days up to LAST_DAY, so many."""
QUARTERS: Final = sorted({quarter_of(LAST_DAY - timedelta(days=each)) for each in range(ORDER_DAYS)})
HIRING_DAYS: Final = 5000

WAREHOUSE_JOBS: Final = ("ST_CLERK", "SH_CLERK", "ST_MAN")
OTHER_JOBS: Final = ("FI_ACCOUNT", "HR_REP", "IT_PROG", "MK_REP", "PU_CLERK", "SA_MAN")

BATCH_ENTITIES: Final = 500
WORKERS: Final = 8


def generate(customers: int, seed: int = 1) -> Iterator[Entity]:
    yield from Generator(customers, seed).entities()


class Generator:
    def __init__(self, customers: int, seed: int) -> None:
        if customers < 1:
            raise ValueError(f"At least one customer is needed, not {customers}")
        self.customers = customers
        self.random = Random(seed)
        self.countries = [country for _, countries in words.REGIONS.values() for country in countries]
        self.locations = [f"L{n:05}" for n in range(1, max(16, customers // 500) + 1)]
        self.departments = [f"D{n:04}" for n in range(1, max(8, customers // 500) + 1)]
        self.warehouses = [f"W{n:04}" for n in range(1, max(4, customers // 200) + 1)]
        self.employees = [f"E{n:06}" for n in range(1, max(30, customers // 10) + 1)]
        self.representatives = self.employees[::3]
        self.products = [f"P{n:06}" for n in range(1, max(20, customers // 5) + 1)]
        self.prices: dict[str, Decimal] = {}
        self.places: dict[str, list[str]] = {}
        """Of each product: the warehouses that have it."""
        self.sold: dict[tuple[str, str], tuple[Decimal, int]] = {}
        self.orders = 0

    def entities(self) -> Iterator[Entity]:
        yield from self._places()
        yield from self._people()
        yield from self._goods()
        yield from self._customers()
        yield from self._sales()

    def _places(self) -> Iterator[Entity]:
        random = self.random
        for region, (name, countries) in words.REGIONS.items():
            yield Region(id=region, name=name)
            for country, country_name in countries.items():
                yield Country(id=country, name=country_name, region=region)
        for number, location in enumerate(self.locations):
            yield Location(
                id=location,
                street=f"{random.randint(1, 200)} {random.choice(words.STREETS)} Street",
                postal_code=f"{random.randint(0, 99999):05}",
                city=f"{random.choice(words.STONES)} {random.choice(('Bay', 'Bridge', 'Hill', 'Springs'))}",
                country=self.countries[number % len(self.countries)],
            )
        for number, department in enumerate(self.departments, start=1):
            yield Department(
                id=department,
                name=f"Department {number}",
                location=random.choice(self.locations),
                manager=random.choice(self.employees),
            )
        for number, warehouse in enumerate(self.warehouses, start=1):
            yield Warehouse(id=warehouse, name=f"Warehouse {number}", location=random.choice(self.locations))

    def _people(self) -> Iterator[Entity]:
        for job, (title, low, high) in words.JOBS.items():
            yield Job(id=job, title=title, min_salary=Decimal(low), max_salary=Decimal(high))
        for number, employee in enumerate(self.employees):
            yield from self._person(number, employee)

    def _person(self, number: int, employee: str) -> Iterator[Entity]:
        random = self.random
        # Every third sells, every third works in a warehouse; of the others, the first is the president.
        jobs = ((REPRESENTATIVE,), WAREHOUSE_JOBS, OTHER_JOBS)[number % 3]
        job = "AD_PRES" if number == 2 else random.choice(jobs)
        first_name = random.choice(words.TREES)
        last_name = f"{random.choice(words.STONES)}-{random.choice(words.BIRDS)}"
        hired = LAST_DAY - timedelta(days=random.randrange(HIRING_DAYS))
        _, low, high = words.JOBS[job]
        yield Employee(
            id=employee,
            first_name=first_name,
            last_name=last_name,
            email=f"{first_name}.{last_name}.{number}@example.com".lower(),
            phone=f"+00 000 {number:07}",
            hired=hired,
            salary=Decimal(random.randint(low, high)),
            manager=random.choice(self.employees[:number]) if number else None,
            warehouse=self.warehouses[number // 3 % len(self.warehouses)] if number % 3 == 1 else None,
        )
        yield from self._jobs(employee, f"{last_name}, {first_name}", hired, job)
        if number % 3 == 0:
            for quarter in QUARTERS:
                yield Quota(employee=employee, quarter=quarter, amount=Decimal(random.randint(5, 50) * 1000))

    def _jobs(self, employee: str, name: str, hired: date, last: str) -> Iterator[Entity]:
        """Up to four jobs, one after another, the last of them until now."""
        random = self.random
        days = (LAST_DAY - hired).days
        changes = sorted(random.sample(range(1, days + 1), min(random.randrange(4), days)))
        begins = [hired, *(hired + timedelta(days=each) for each in changes)]
        jobs = [*(random.choice(OTHER_JOBS) for _ in changes), last]
        for since, until, job in zip(begins, [*begins[1:], None], jobs, strict=True):
            yield Assignment(
                employee=employee,
                since=since,
                until=until,
                job=job,
                title=words.JOBS[job][0],
                department=random.choice(self.departments),
                name=name,
            )

    def _goods(self) -> Iterator[Entity]:
        random = self.random
        for number, product in enumerate(self.products, start=1):
            places = random.sample(self.warehouses, random.randint(1, min(4, len(self.warehouses))))
            inventories = [
                Inventory(warehouse=warehouse, product=product, quantity=random.randrange(500)) for warehouse in places
            ]
            self.places[product] = places
            self.prices[product] = Decimal(random.randint(100, 50_000)).scaleb(-2)
            yield Product(
                id=product,
                name=f"{random.choice(words.MATERIALS)} {random.choice(words.THINGS)} {number}",
                category=random.choice(words.CATEGORIES),
                list_price=self.prices[product],
                stock=sum(each.quantity for each in inventories),
            )
            yield from inventories

    def _customers(self) -> Iterator[Entity]:
        random = self.random
        for number in range(1, self.customers + 1):
            customer = Customer(
                id=f"C{number:07}",
                name=f"{random.choice(words.MATERIALS)} {random.choice(words.THINGS)} Company {number}",
                email=f"orders.{number}@example.com",
                country=random.choice(self.countries),
                credit_limit=Decimal(random.randint(1, 100) * 1000),
                representative=random.choice(self.representatives),
            )
            yield customer
            for _ in range(random.randrange(7)):
                yield from self._order(customer)

    def _order(self, customer: Customer) -> Iterator[Entity]:
        random = self.random
        self.orders += 1
        age = timedelta(days=random.randrange(ORDER_DAYS), seconds=random.randrange(86_400))
        placed = datetime(LAST_DAY.year, LAST_DAY.month, LAST_DAY.day, 23, 59, 59, tzinfo=UTC) - age
        number = f"{placed:%Y%m%d-%H%M%S}-{self.orders:08}"
        items = []
        for line, product in enumerate(random.sample(self.products, random.randint(1, 4)), start=1):
            place = random.choice(self.places[product])
            quantity, price = random.randint(1, 20), self.prices[product]
            items.append(
                OrderItem(
                    order=number, line=line, product=product, warehouse=place, quantity=quantity, unit_price=price
                )
            )
        status = self._status(age.days)
        order = Order(
            number=number,
            customer=customer.id,
            representative=customer.representative,
            placed=placed,
            status=status,
            total=sum((item.unit_price * item.quantity for item in items), Decimal(0)),
            revision=REVISIONS[status],
        )
        credit = credit_of(order)
        if credit.counts:
            total, orders = self.sold.get((credit.representative, credit.quarter), (Decimal(0), 0))
            self.sold[credit.representative, credit.quarter] = (total + credit.total, orders + 1)
        yield order
        yield from items
        yield credit

    def _status(self, days: int) -> Status:
        """Most of what is older than a month has arrived."""
        if self.random.random() < 0.05:
            return Status.CANCELLED
        on_its_way = (Status.OPEN, Status.PACKED, Status.SHIPPED)
        return on_its_way[days // 10] if days < 30 else Status.DELIVERED

    def _sales(self) -> Iterator[Entity]:
        for (representative, quarter), (total, orders) in self.sold.items():
            yield Sales(employee=representative, quarter=quarter, total=total, orders=orders)


REVISIONS: Final = {
    Status.OPEN: 1,
    Status.PACKED: 2,
    Status.SHIPPED: 3,
    Status.DELIVERED: 4,
    Status.CANCELLED: 2,
}
"""How often an order has been written that has come so far."""


def load(
    store: Store,
    entities: Iterable[Entity],
    *,
    workers: int = WORKERS,
    advance: Callable[[list[Entity]], object] = lambda batch: None,
) -> int:
    """Writes all of them, in batches, several at once; `advance` is called with each batch that is written. Gives how
    many there were. If one fails, it is raised, and what was begun is ended first."""
    rest = iter(entities)
    count = 0
    pending: dict[Future[None], list[Entity]] = {}

    def finish(done: Iterable[Future[None]]) -> None:
        for future in done:
            batch = pending.pop(future)
            future.result()
            advance(batch)

    with ThreadPoolExecutor(workers) as threads:
        while batch := list(islice(rest, BATCH_ENTITIES)):
            if len(pending) >= 2 * workers:
                finish(wait(pending, return_when=FIRST_COMPLETED).done)
            pending[threads.submit(store.put_many, batch)] = batch
            count += len(batch)
        finish(wait(pending).done)
    return count
