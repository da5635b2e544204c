"""Goods that come into a warehouse."""

from __future__ import annotations

from order_entry import checks
from order_entry.landing import Landing, land
from order_entry.model import Inventory, Product, Warehouse
from order_entry.model import inventory as inventory_of
from torusdb.modeling import Ref, Store


def receive_goods(store: Store, warehouse: str, product: str, quantity: int) -> Inventory:
    """One transaction: the stock of the warehouse, and the total stock of the product."""
    warehouse = checks.text("warehouse", warehouse)
    product = checks.text("product", product)
    quantity = checks.quantity("quantity", quantity)
    checks.existing(store, Warehouse, warehouse)
    checks.existing(store, Product, product)
    land(store, lambda landing: _receive(store, landing, warehouse, product, quantity))
    inventory = store.run(inventory_of(product, warehouse).consistent())
    assert inventory is not None  # inventories are never deleted
    return inventory


def _receive(store: Store, landing: Landing, warehouse: str, product: str, quantity: int) -> None:
    transaction = landing.transaction
    if store.run(inventory_of(product, warehouse).consistent()) is None:
        transaction.insert(Inventory(warehouse=warehouse, product=product, quantity=quantity))
    else:
        transaction.update(Ref(Inventory, warehouse=warehouse, product=product), Inventory.quantity.add(quantity))
    transaction.update(Ref(Product, id=product), Product.stock.add(quantity))
