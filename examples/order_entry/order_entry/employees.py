"""People: hired, transferred, promoted. The history of their jobs is kept by each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from secrets import token_hex

from order_entry import checks
from order_entry.errors import AlreadyThere, Conflict, InvalidInput
from order_entry.landing import land
from order_entry.model import Assignment, Department, Employee, Job, Warehouse, current_job
from torusdb.modeling import Action, Store, TransactionWrites


def hire(
    store: Store,
    *,
    first_name: str,
    last_name: str,
    email: str,
    phone: str,
    job: str,
    department: str,
    salary: Decimal,
    hired: date,
    manager: str | None = None,
    warehouse: str | None = None,
    id: str | None = None,  # noqa: A002 - the attribute's name
) -> Employee:
    """One transaction: the person, and the first of their jobs."""
    employee = Employee(
        id=checks.text("id", id) if id is not None else f"E-{token_hex(5)}",
        first_name=checks.text("first_name", first_name),
        last_name=checks.text("last_name", last_name),
        email=_email(email),
        phone=checks.text("phone", phone),
        hired=checks.day("hired", hired),
        salary=checks.amount("salary", salary),
        manager=checks.existing(store, Employee, checks.text("manager", manager)).id if manager is not None else None,
        warehouse=_warehouse(store, warehouse),
    )
    the_job = checks.existing(store, Job, checks.text("job", job))
    _check_salary(employee.salary, the_job)
    first = Assignment(
        employee=employee.id,
        since=hired,
        job=the_job.id,
        title=the_job.title,
        department=checks.existing(store, Department, checks.text("department", department)).id,
        name=f"{employee.last_name}, {employee.first_name}",
    )

    def work(transaction: TransactionWrites) -> Employee:
        transaction.insert(employee, otherwise=AlreadyThere("employee", employee.id))
        transaction.insert(first)
        return employee

    return land(store, work)


def promote(store: Store, employee: str, *, job: str, salary: Decimal, since: date) -> Assignment:
    """To another job, in the same department."""
    the_job = checks.existing(store, Job, checks.text("job", job))
    salary = checks.amount("salary", salary)
    _check_salary(salary, the_job)
    since = checks.day("since", since)

    def following(current: Assignment) -> Assignment:
        if current.job == the_job.id:
            raise InvalidInput("job", f"must be another: {current.employee} is {the_job.title} already")
        return _after(current, since, the_job.id, the_job.title, current.department)

    return _reassign(store, employee, following, [Employee.salary.set(salary)])


def transfer(store: Store, employee: str, *, department: str, warehouse: str | None, since: date) -> Assignment:
    """To another department, or within one to another warehouse or to none, with the same job."""
    department = checks.existing(store, Department, checks.text("department", department)).id
    warehouse = _warehouse(store, warehouse)
    since = checks.day("since", since)

    def following(current: Assignment) -> Assignment:
        return _after(current, since, current.job, current.title, department)

    return _reassign(store, employee, following, [Employee.warehouse.set(warehouse)])


def _reassign(
    store: Store, employee_id: str, following: Callable[[Assignment], Assignment], actions: list[Action]
) -> Assignment:
    """One transaction: the job that ends, the one that begins, and what changes of the person."""
    employee_id = checks.text("employee", employee_id)

    def work(transaction: TransactionWrites) -> Assignment:
        employee = checks.existing(store, Employee, employee_id)
        current = store.run(current_job(employee_id).consistent()).first()
        if current is None or current.until is not None:
            raise Conflict(f"Employee {employee_id} has no job now")
        new = following(current)
        transaction.update(current, Assignment.until.set(new.since), when=Assignment.until.missing())
        transaction.insert(new)
        transaction.update(employee, *actions)
        return new

    return land(store, work)


def _after(current: Assignment, since: date, job: str, title: str, department: str) -> Assignment:
    if since <= current.since:
        raise InvalidInput("since", f"must be after {current.since}, when the job before it began")
    return Assignment(
        employee=current.employee, since=since, job=job, title=title, department=department, name=current.name
    )


def _warehouse(store: Store, warehouse: str | None) -> str | None:
    return checks.existing(store, Warehouse, checks.text("warehouse", warehouse)).id if warehouse is not None else None


def _email(email: str) -> str:
    email = checks.text("email", email)
    name, _, host = email.partition("@")
    if not name or not host or "@" in host or " " in email:
        raise InvalidInput("email", f"must be an address such as name@example.com, not {email!r}")
    return email


def _check_salary(salary: Decimal, job: Job) -> None:
    if not job.min_salary <= salary <= job.max_salary:
        raise InvalidInput("salary", f"must be {job.min_salary} to {job.max_salary} for a {job.title}, not {salary}")
