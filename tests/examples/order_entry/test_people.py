"""People are hired, transferred and promoted, and customers get other representatives."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from order_entry.customers import change_representative
from order_entry.employees import hire, promote, transfer
from order_entry.errors import AlreadyThere, ChangedMeanwhile, Conflict, InvalidInput, NotFound, OrderEntryError
from order_entry.model import (
    Assignment,
    Customer,
    Employee,
    current_job,
    customers_of_representative,
    employee_details,
    employees_by_name,
    employees_by_title,
    employees_hired_since,
    employees_in_warehouse,
    orders_of_representative,
)
from order_entry.orders import Line, place_order
from tests.examples.order_entry.business import HIRED, Interrupted, assert_refused, contents, outcomes
from torusdb.modeling import Ref, Store

SOMEONE: dict[str, Any] = {
    "id": "E3",
    "first_name": "Elm",
    "last_name": "Opal-Tern",
    "email": "elm@example.com",
    "phone": "+00 000 0000003",
    "job": "ST_CLERK",
    "department": "D1",
    "salary": Decimal("2500.50"),
    "hired": date(2024, 6, 1),
    "manager": "E2",
    "warehouse": "W1",
}


def test_who_is_hired_is_found_by_each_pattern_of_people(store: Store) -> None:
    employee = hire(store, **SOMEONE)
    assert store.run(employees_by_name("Opal-Tern")).all() == [employee]
    assert store.run(employees_by_name("Opal-Tern", "Elm")).all() == [employee]
    assert store.run(employees_by_name("Opal-Tern", "E")).all() == []
    assert store.run(employees_hired_since(date(2024, 6, 1))).all() == [employee]
    assert store.run(employees_hired_since(date(2024, 6, 2))).all() == []
    assert employee in store.run(employees_in_warehouse("W1")).all()
    job = store.run(current_job("E3")).first()
    assert job is not None
    assert (job.title, job.department, job.since, job.until) == ("Stock Clerk", "D1", date(2024, 6, 1), None)
    assert [each.employee for each in store.run(employees_by_title("Stock Clerk"))] == ["E3", "E2"]
    assert store.run(employee_details("E3")).all() == [employee, job]


def test_an_id_is_made_where_none_is_given(store: Store) -> None:
    values = {name: value for name, value in SOMEONE.items() if name != "id"}
    assert hire(store, **values).id != hire(store, **values).id


def test_the_longest_names_fit_into_every_key(store: Store) -> None:
    longest = dict.fromkeys(("id", "first_name", "last_name"), "Ä" * 100)
    employee = hire(store, **{**SOMEONE, **longest})
    assert employee in store.run(employees_in_warehouse("W1")).all()


def test_an_id_is_given_once(store: Store) -> None:
    before = contents(store)
    with pytest.raises(AlreadyThere, match="Employee E1 is there already"):
        hire(store, **{**SOMEONE, "id": "E1"})
    assert contents(store) == before


def test_who_is_promoted_has_another_title_and_salary_and_a_history(store: Store) -> None:
    new = promote(store, "E1", job="SA_MAN", salary=Decimal(5000), since=date(2024, 1, 1))
    assert store.run(current_job("E1")).all() == [new]
    assert store.run(employees_by_title("Sales Manager")).all() == [new]
    assert store.run(employees_by_title("Sales Representative")).all() == []
    employee, *jobs = store.run(employee_details("E1")).all()
    assert isinstance(employee, Employee)
    assert employee.salary == 5000
    old = Assignment(
        employee="E1",
        since=HIRED,
        until=date(2024, 1, 1),
        job="SA_REP",
        title="Sales Representative",
        department="D1",
        name="Quartz-E1, Ash",
    )
    assert jobs == [new, old]


def test_who_is_transferred_works_elsewhere_with_the_same_job(store: Store) -> None:
    new = transfer(store, "E2", department="D2", warehouse="W2", since=date(2024, 1, 1))
    assert (new.title, new.department) == ("Stock Clerk", "D2")
    assert store.run(employees_in_warehouse("W1")).all() == []
    assert [each.id for each in store.run(employees_in_warehouse("W2"))] == ["E2"]
    transfer(store, "E2", department="D2", warehouse=None, since=date(2024, 1, 2))
    assert store.run(employees_in_warehouse("W2")).all() == []
    assert len(store.run(employee_details("E2")).all()) == 4


def test_of_two_who_reassign_someone_at_once_one_does(store: Store) -> None:
    """Both see the job that is to end; it ends once."""
    found = outcomes([lambda: promote(store, "E1", job="SA_MAN", salary=Decimal(5000), since=date(2024, 1, 1))] * 6)
    assert len([each for each in found if isinstance(each, Assignment)]) == 1
    assert all(isinstance(each, Assignment | InvalidInput | ChangedMeanwhile) for each in found)
    assert len(store.run(employee_details("E1")).all()) == 3


def test_a_customer_gets_another_representative_and_orders_stay_with_the_old_one(store: Store) -> None:
    order = place_order(store, "C1", [Line("P1", "W1", 1)])
    promote(store, "E2", job="SA_REP", salary=Decimal(5000), since=date(2024, 1, 1))
    customer = change_representative(store, "C1", "E2")
    assert customer.representative == "E2"
    assert store.run(customers_of_representative("E2")).all() == [customer]
    assert [each.id for each in store.run(customers_of_representative("E1"))] == ["C2"]
    day = order.placed.date()
    assert store.run(orders_of_representative("E1", day, day)).all() == [order]
    assert store.run(orders_of_representative("E2", day, day)).all() == []


def test_a_job_that_ends_while_it_is_being_ended_ends_once(store: Store) -> None:
    """Who comes second ends the job that has begun meanwhile."""
    client = Interrupted(
        store._client, lambda: transfer(store, "E1", department="D2", warehouse=None, since=date(2023, 1, 1))
    )
    promote(Store(store.table, client), "E1", job="SA_MAN", salary=Decimal(5000), since=date(2024, 1, 1))
    assert client.interrupted
    jobs = [each for each in store.run(employee_details("E1")) if isinstance(each, Assignment)]
    assert [(each.job, each.department, each.since, each.until) for each in jobs] == [
        ("SA_MAN", "D2", date(2024, 1, 1), None),
        ("SA_REP", "D2", date(2023, 1, 1), date(2024, 1, 1)),
        ("SA_REP", "D1", HIRED, date(2023, 1, 1)),
    ]


def test_who_is_promoted_meanwhile_gets_no_customer(store: Store) -> None:
    def promoted() -> None:
        promote(store, "E1", job="SA_MAN", salary=Decimal(5000), since=date(2024, 1, 1))

    client = Interrupted(store._client, promoted)
    with pytest.raises(InvalidInput, match="must be a sales representative, and E1 is none"):
        change_representative(Store(store.table, client), "C1", "E1")
    assert client.interrupted


def hiring(**changes: Any) -> Callable[[Store], Any]:
    return lambda store: hire(store, **{**SOMEONE, **changes})


DAY = date(2024, 1, 1)
REFUSED: dict[str, tuple[Callable[[Store], Any], type[OrderEntryError], str]] = {
    "no name": (hiring(last_name="  "), InvalidInput, "last_name: must not be empty"),
    "a name that would be another key": (
        hiring(first_name="A#B"),
        InvalidInput,
        "first_name: must not have a # or control characters in it",
    ),
    "a name without end": (
        hiring(first_name="Ä" * 101),
        InvalidInput,
        "first_name: must not be longer than 200 bytes",
    ),
    "a name that is none": (hiring(first_name=7), InvalidInput, "first_name: must be a text, not 7"),
    "no address": (
        hiring(email="elm"),
        InvalidInput,
        "email: must be an address such as name@example.com, not 'elm'",
    ),
    "no day": (
        hiring(hired=datetime(2024, 1, 1)),
        InvalidInput,
        "hired: must be a date, not datetime.datetime(2024, 1, 1, 0, 0)",
    ),
    "a day before all days": (
        hiring(hired=date.min),
        InvalidInput,
        "hired: must be in the years 1900 to 2999, not 0001-01-01",
    ),
    "a salary beyond the job's": (
        hiring(salary=Decimal(9001)),
        InvalidInput,
        "salary: must be 1000 to 9000 for a Stock Clerk, not 9001.00",
    ),
    "a salary in fractions of cents": (
        hiring(salary=Decimal("2000.001")),
        InvalidInput,
        "salary: must have at most two decimals, not 2000.001",
    ),
    "a salary that is no number": (
        hiring(salary=Decimal("NaN")),
        InvalidInput,
        "salary: must be an amount from 0 to 10000000, not Decimal('NaN')",
    ),
    "an unknown job": (hiring(job="KING"), NotFound, "There is no job KING"),
    "an unknown department": (hiring(department="D9"), NotFound, "There is no department D9"),
    "an unknown manager": (hiring(manager="E9"), NotFound, "There is no employee E9"),
    "an unknown warehouse": (hiring(warehouse="W9"), NotFound, "There is no warehouse W9"),
    "a promotion of nobody": (
        lambda store: promote(store, "E9", job="SA_MAN", salary=Decimal(5000), since=DAY),
        NotFound,
        "There is no employee E9",
    ),
    "a promotion to the same job": (
        lambda store: promote(store, "E1", job="SA_REP", salary=Decimal(5000), since=DAY),
        InvalidInput,
        "job: must be another: E1 is Sales Representative already",
    ),
    "a promotion before the job began": (
        lambda store: promote(store, "E1", job="SA_MAN", salary=Decimal(5000), since=HIRED),
        InvalidInput,
        "since: must be after 2020-05-01, when the job before it began",
    ),
    "a transfer to nowhere": (
        lambda store: transfer(store, "E1", department="D9", warehouse=None, since=DAY),
        NotFound,
        "There is no department D9",
    ),
    "a transfer to an unknown warehouse": (
        lambda store: transfer(store, "E1", department="D1", warehouse="W9", since=DAY),
        NotFound,
        "There is no warehouse W9",
    ),
    "a representative who is none": (
        lambda store: change_representative(store, "C1", "E2"),
        InvalidInput,
        "representative: must be a sales representative, and E2 is none",
    ),
    "an unknown representative": (
        lambda store: change_representative(store, "C1", "E9"),
        NotFound,
        "There is no employee E9",
    ),
    "a representative for nobody": (
        lambda store: change_representative(store, "C9", "E1"),
        NotFound,
        "There is no customer C9",
    ),
}


@pytest.mark.parametrize(("request_", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_told_and_changes_nothing(
    store: Store, request_: Callable[[Store], Any], kind: type[OrderEntryError], message: str
) -> None:
    assert_refused(store, request_, kind, message)


def test_who_has_no_job_any_more_is_not_promoted(store: Store) -> None:
    current = store.run(current_job("E1")).first()
    assert current is not None
    store.update(current, Assignment.until.set(date(2023, 1, 1)))
    with pytest.raises(Conflict, match="Employee E1 has no job now"):
        promote(store, "E1", job="SA_MAN", salary=Decimal(5000), since=DAY)


def test_a_customer_keeps_what_else_they_are(store: Store) -> None:
    before = store.get(Customer, id="C1")
    assert before is not None
    change_representative(store, "C1", "E1")
    assert store.get(Customer, id="C1") == before
    assert Ref(Customer, id="C1").key == {"pk": {"S": "CUSTOMER#C1"}, "sk": {"S": "CUSTOMER"}}
