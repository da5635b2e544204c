"""The service's model as the slow path reads it: `shapes.json`, and the table of all operations.

The file is generated (`tools/generate_shapes.py`); its `shape_overrides` name what each field is for.
"""

from __future__ import annotations

from functools import cached_property
from importlib.resources import files

import msgspec

from torusdb.api.names import Kind


class Member(msgspec.Struct, frozen=True):
    """A structure's member. `max` replaces the shape's own; `says_...` are messages other than the usual
    ones."""

    name: str
    shape: str
    required: bool = False
    max: int | None = None
    names: Kind | None = None
    key_names: Kind | None = None
    says_min: str | None = None
    says_max: str | None = None
    says_empty: str | None = None


class Shape(msgspec.Struct, frozen=True, dict=True):
    type: str
    java: str
    min: int | None = None
    max: int | None = None
    pattern: str | None = None
    enum: list[str] | None = None
    members: list[Member] = []
    first_only: list[str] = []
    """Members of which only the first violation is reported."""
    member: str = ""
    key: str = ""
    value: str = ""

    @cached_property
    def members_by_name(self) -> dict[str, Member]:
        return {member.name: member for member in self.members}


class _Model(msgspec.Struct):
    botocore: str
    operations: dict[str, dict[str, str]]
    shapes: dict[str, Shape]


_model = msgspec.json.decode(files(__package__).joinpath("shapes.json").read_bytes(), type=_Model)

SHAPES = _model.shapes
"""All shapes that inputs reach, by name."""

KNOWN_OPERATIONS = {f"{target}.{name}": name for target, operations in _model.operations.items() for name in operations}
"""Every operation of the service's model by the value of the X-Amz-Target header, built or not."""

INPUT_SHAPES = {name: shape for operations in _model.operations.values() for name, shape in operations.items()}
"""The name of each operation's input shape."""

ATTRIBUTE_VALUE = "AttributeValue"
