"""What a table is set to, besides its keys: how it is paid for, its stream, protection, backups, encryption, tags.

The defaults are the service's, but for one: a table is paid by request unless capacity is given."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from torusdb.modeling.errors import ModelError

StreamView: TypeAlias = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]
"""What a stream keeps of a change besides the keys."""
TableClass: TypeAlias = Literal["STANDARD", "STANDARD_INFREQUENT_ACCESS"]

AWS_MANAGED_KEY: Final = "alias/aws/dynamodb"
"""The key that AWS keeps for an account; the service takes it by leaving the key out."""


NO_TAGS: Final[Mapping[str, str]] = MappingProxyType({})


class Throughput(NamedTuple):
    """Capacity units a second."""

    read: int
    write: int

    def check(self, where: str) -> None:
        for name, units in (("read", self.read), ("write", self.write)):
            if units < 1:
                raise ModelError(f"{where} has a throughput whose {name} is {units}; it has to be at least 1")

    def provisioned(self) -> dict[str, int]:
        return {"ReadCapacityUnits": self.read, "WriteCapacityUnits": self.write}

    def on_demand(self) -> dict[str, int]:
        return {"MaxReadRequestUnits": self.read, "MaxWriteRequestUnits": self.write}


class TableOptions(NamedTuple):
    """`provisioned`: the capacity that is kept ready; without it the table is paid by request, and `on_demand_max` is
    what it may use at most. An index has the table's, unless it says its own (`GlobalIndex(…, throughput=…)`).
    `stream`: what its records hold. `kms_key`: a key of yours, or AWS_MANAGED_KEY; without it the service's own."""

    provisioned: Throughput | None = None
    on_demand_max: Throughput | None = None
    stream: StreamView | None = None
    table_class: TableClass = "STANDARD"
    deletion_protection: bool = False
    point_in_time_recovery: bool = False
    kms_key: str | None = None
    tags: Mapping[str, str] = NO_TAGS

    def check(self, where: str) -> None:
        if self.provisioned and self.on_demand_max:
            raise ModelError(f"{where} has provisioned capacity and a maximum on demand: it can have one of them")
        for throughput in (self.provisioned, self.on_demand_max):
            if throughput is not None:
                throughput.check(where)

    @property
    def billing_mode(self) -> str:
        return "PROVISIONED" if self.provisioned is not None else "PAY_PER_REQUEST"

    def throughput(self, own: Throughput | None = None) -> dict[str, Any]:
        """The members that say so in a request; `own`: an index's."""
        if self.provisioned is not None:
            return {"ProvisionedThroughput": (own or self.provisioned).provisioned()}
        if own is not None or self.on_demand_max is not None:
            most = own or self.on_demand_max
            assert most is not None
            return {"OnDemandThroughput": most.on_demand()}
        return {}

    def encryption(self) -> dict[str, Any] | None:
        if self.kms_key is None:
            return None
        own = {} if self.kms_key == AWS_MANAGED_KEY else {"KMSMasterKeyId": self.kms_key}
        return {"Enabled": True, "SSEType": "KMS", **own}

    def create_parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"BillingMode": self.billing_mode, **self.throughput()}
        if self.stream is not None:
            parameters["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": self.stream}
        if self.table_class != "STANDARD":
            parameters["TableClass"] = self.table_class
        if self.deletion_protection:
            parameters["DeletionProtectionEnabled"] = True
        encryption = self.encryption()
        if encryption is not None:
            parameters["SSESpecification"] = encryption
        if self.tags:
            parameters["Tags"] = [{"Key": key, "Value": value} for key, value in sorted(self.tags.items())]
        return parameters


DEFAULT_OPTIONS: Final = TableOptions()
