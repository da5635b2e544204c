"""Who looks after a customer."""

from __future__ import annotations

from order_entry import checks
from order_entry.errors import InvalidInput, NotFound
from order_entry.model import REPRESENTATIVE, Customer, Employee, current_job
from torusdb.modeling import ConditionFailed, Ref, Store


def change_representative(store: Store, customer: str, representative: str) -> Customer:
    """From now on. Orders that were placed stay with whom they were placed with."""
    customer = checks.text("customer", customer)
    representative = checks.text("representative", representative)
    checks.existing(store, Employee, representative)
    job = store.run(current_job(representative).consistent()).first()
    if job is None or job.job != REPRESENTATIVE:
        raise InvalidInput("representative", f"must be a sales representative, and {representative} is none")
    try:
        return store.update(Ref(Customer, id=customer), Customer.representative.set(representative))
    except ConditionFailed as failed:
        raise NotFound("customer", customer) from failed
