"""TorusDB: a DynamoDB-compatible database, as a server or in the process."""

__version__ = "0.1.0"
