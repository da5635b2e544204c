"""Goods that come into a warehouse."""

from __future__ import annotations

from order_entry import checks
from order_entry.landing import land
from order_entry.model import Inventory, Product, Warehouse
from order_entry.model import inventory as inventory_of
from torusdb.modeling import Ref, Store, TransactionWrites


def receive_goods(store: Store, warehouse: str, product: str, quantity: int) -> Inventory:
    """One transaction: the stock of the warehouse, which may be its first of this product, and the product's total."""
    warehouse = checks.text("warehouse", warehouse)
    product = checks.text("product", product)
    quantity = checks.quantity("quantity", quantity)
    checks.existing(store, Warehouse, warehouse)
    checks.existing(store, Product, product)

    def receive(transaction: TransactionWrites) -> None:
        place = Ref(Inventory, warehouse=warehouse, product=product)
        transaction.upsert(place, Inventory.quantity.add(quantity))
        transaction.update(Ref(Product, id=product), Product.stock.add(quantity))

    land(store, receive)
    inventory = store.run(inventory_of(product, warehouse).consistent())
    assert inventory is not None  # inventories are never deleted
    return inventory
