"""Who looks after a customer."""

from __future__ import annotations

from order_entry import checks
from order_entry.errors import InvalidInput, NotFound
from order_entry.landing import land
from order_entry.model import REPRESENTATIVE, Assignment, Customer, Employee, current_job
from torusdb.modeling import Ref, Store, TransactionWrites


def change_representative(store: Store, customer: str, representative: str) -> Customer:
    """From now on. Orders that were placed stay with whom they were placed with."""
    customer = checks.text("customer", customer)
    representative = checks.text("representative", representative)
    land(store, lambda transaction: _change(store, transaction, customer, representative))
    return checks.existing(store, Customer, customer)


def _change(store: Store, transaction: TransactionWrites, customer: str, representative: str) -> None:
    checks.existing(store, Employee, representative)
    job = store.run(current_job(representative).consistent()).first()
    if job is None or job.job != REPRESENTATIVE or job.until is not None:
        raise InvalidInput("representative", f"must be a sales representative, and {representative} is none")
    transaction.check(job, Assignment.until.missing())
    transaction.update(
        Ref(Customer, id=customer),
        Customer.representative.set(representative),
        otherwise=NotFound("customer", customer),
    )
