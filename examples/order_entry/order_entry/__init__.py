"""An order-entry and HR system in one table: start reading in `model.py`."""
