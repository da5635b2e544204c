"""The front of the system: pages that a server renders, and a REST interface. Start reading in `app.py`."""
