"""Writes what the service's public model says of shapes and constraints into the package.

    python tools/generate_shapes.py

reads the models that botocore carries, applies `shape_overrides`, and writes `shapes.json` (facts for the
messages) and `requests.py` (types for the decoder) into `src/torusdb/api`. The output depends on nothing but
botocore's version, which both files record.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import botocore

import shape_overrides

API = Path(__file__).resolve().parent.parent / "src" / "torusdb" / "api"

MODELS = {
    "DynamoDB_20120810": "dynamodb/2012-08-10",
    "DynamoDBStreams_20120810": "dynamodbstreams/2012-08-10",
}

BUILT = [
    *["CreateTable", "DescribeTable", "UpdateTable", "DeleteTable", "ListTables"],
    *["PutItem", "GetItem", "UpdateItem", "DeleteItem", "Query", "Scan", "BatchGetItem", "BatchWriteItem"],
    *["TransactGetItems", "TransactWriteItems"],
    *["ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"],
    *["DescribeLimits", "DescribeEndpoints"],
    *["TagResource", "UntagResource", "ListTagsOfResource"],
    *["PutResourcePolicy", "GetResourcePolicy", "DeleteResourcePolicy"],
    *["UpdateTimeToLive", "DescribeTimeToLive"],
    *["ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"],
]
"""Operations that get a request type. The others are known by name only, and are answered as unknown."""

CONSTRAINTS = ("min", "max", "pattern", "enum")
JAVA_PACKAGE = "com.amazonaws.dynamodb.v20120810."
JAVA_SCALARS = {
    "string": "java.lang.String",
    "boolean": "java.lang.Boolean",
    "integer": "java.lang.Integer",
    "long": "java.lang.Long",
    "double": "java.lang.Double",
    "timestamp": "java.util.Date",
    "blob": "java.nio.ByteBuffer",
}
PYTHON_SCALARS = {
    "string": "str",
    "boolean": "bool",
    "integer": "int",
    "long": "int",
    "timestamp": "float",
    "blob": "bytes",
}
INTEGER_LIMITS = {"integer": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}

KINDS_OF_NAMES = {
    "create": "NewTableName",
    "control": "ControlTableName",
    "data": "DataTableName",
    "alone": "DataTableName",
    "member": "MapTableName",
    "arn": "ResourceArn",
}
"""The types of `torusdb.api.names`, by the kind that `shape_overrides` gives."""

Shapes = dict[str, dict[str, Any]]


def read_models() -> tuple[dict[str, dict[str, str]], Shapes]:
    """The operations by target prefix with their input shapes, and all shapes that inputs reach."""
    operations: dict[str, dict[str, str]] = {}
    shapes: Shapes = {}
    data = Path(botocore.__file__).parent / "data"
    for target, path in MODELS.items():
        model = json.loads(gzip.decompress((data / path / "service-2.json.gz").read_bytes()))
        prefix = "" if not operations else "Streams"
        operations[target] = {
            name: prefix + operation["input"]["shape"] for name, operation in sorted(model["operations"].items())
        }
        for operation in model["operations"].values():
            collect(operation["input"]["shape"], model["shapes"], prefix, shapes)
    return operations, dict(sorted(shapes.items()))


def collect(name: str, source: dict[str, Any], prefix: str, shapes: Shapes) -> None:
    """Adds the shape and what it reaches. Shapes of Streams carry a prefix: names mean other things there."""
    key = prefix + name
    if key in shapes:
        return
    shape = source[name]
    fact: dict[str, Any] = {"type": shape["type"], "java": java_type(name, source)}
    shapes[key] = fact
    fact.update({rule: shape[rule] for rule in CONSTRAINTS if rule in shape})
    override(fact, shape_overrides.SHAPES.get(key, {}))
    children: list[str] = []
    if shape["type"] == "structure":
        fact["members"] = members_of(key, shape, prefix)
        if key in shape_overrides.FIRST_ONLY:
            fact["first_only"] = shape_overrides.FIRST_ONLY[key]
        children = [member["shape"] for member in shape["members"].values()]
    elif shape["type"] == "list":
        children = [shape["member"]["shape"]]
        fact["member"] = prefix + children[0]
        limit(fact, name, source[children[0]]["type"], children[0])
    elif shape["type"] == "map":
        children = [shape["key"]["shape"], shape["value"]["shape"]]
        fact["key"], fact["value"] = (prefix + child for child in children)
        limit(fact, name, source[children[1]]["type"], children[1])
    for child in children:
        collect(child, source, prefix, shapes)


def limit(fact: dict[str, Any], name: str, element_type: str, element: str) -> None:
    """Bounds what the model leaves without limit, but for what items and placeholders are made of."""
    if "max" in fact:
        return
    if (element_type == "structure" and element != "AttributeValue") or name in shape_overrides.ALSO_LIMITED:
        fact["max"] = shape_overrides.ELEMENTS_MAX


def members_of(key: str, shape: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The members in the order in which the service reports them."""
    first = shape_overrides.ORDER.get(key, [])
    members = []
    for name in [*first, *(name for name in shape["members"] if name not in first)]:
        fact: dict[str, Any] = {"name": name, "shape": prefix + shape["members"][name]["shape"]}
        if name in shape.get("required", []):
            fact["required"] = True
        override(fact, shape_overrides.MEMBERS.get(f"{key}.{name}", {}))
        members.append(fact)
    return members


def override(fact: dict[str, Any], rules: dict[str, Any]) -> None:
    for rule, value in rules.items():
        if value is None:
            fact.pop(rule, None)
        else:
            fact[rule] = value


def java_type(name: str, source: dict[str, Any]) -> str:
    """The type as SerializationException names it."""
    shape = source[name]
    if shape["type"] == "list":
        return f"java.util.List<{java_type(shape['member']['shape'], source)}>"
    if shape["type"] == "map":
        key, value = (java_type(shape[part]["shape"], source) for part in ("key", "value"))
        return f"java.util.Map<{key}, {value}>"
    return JAVA_SCALARS.get(shape["type"], JAVA_PACKAGE + name)


def snake_case(name: str) -> str:
    words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+", name)
    return "_".join(word.lower() for word in words)


def pascal_case(name: str) -> str:
    """What msgspec's `rename="pascal"` makes of a field's name."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


class Writer:
    """Writes the request types: nested structures before those that use them."""

    def __init__(self, shapes: Shapes) -> None:
        self.shapes = shapes
        self.written: set[str] = set()
        self.lines: list[str] = []

    def structure(self, name: str, class_name: str) -> None:
        if name in self.written:
            return
        self.written.add(name)
        fields = [self.field(member) for member in self.shapes[name]["members"]]
        self.lines += ["", "", f"class {class_name}(Request, kw_only=True):"]
        self.lines += [f"    {field}" for field in fields] or ["    pass"]

    def field(self, member: dict[str, Any]) -> str:
        name = snake_case(member["name"])
        annotation = self.annotation(member["shape"], member)
        renamed = [] if pascal_case(name) == member["name"] else [f'name="{member["name"]}"']
        if member.get("required"):
            default = f" = msgspec.field({renamed[0]})" if renamed else ""
            return f"{name}: {annotation}{default}"
        default = f"msgspec.field({renamed[0]}, default=None)" if renamed else "None"
        return f"{name}: {annotation} | None = {default}"

    def annotation(self, name: str, overrides: dict[str, Any]) -> str:
        if name == "AttributeValue":
            return "WireValue"
        shape = {**self.shapes[name], **overrides}
        kind = shape["type"]
        if kind == "structure":
            self.structure(name, name)
            return name
        if "names" in shape:
            return KINDS_OF_NAMES[shape["names"]]
        if "enum" in shape:
            return f"Literal[{', '.join(json.dumps(value) for value in shape['enum'])}]"
        if kind == "list":
            plain = f"list[{self.annotation(shape['member'], {})}]"
        elif kind == "map":
            keys = "MapTableName" if "key_names" in shape else "str"
            plain = f"dict[{keys}, {self.annotation(shape['value'], {})}]"
        else:
            plain = PYTHON_SCALARS[kind]
        return self.annotated(plain, self.meta(kind, shape))

    @staticmethod
    def annotated(plain: str, meta: list[str]) -> str:
        return f"Annotated[{plain}, msgspec.Meta({', '.join(meta)})]" if meta else plain

    @staticmethod
    def meta(kind: str, shape: dict[str, Any]) -> list[str]:
        if kind in INTEGER_LIMITS:
            low, high = INTEGER_LIMITS[kind]
            return [f"ge={shape.get('min', low)}", f"le={shape.get('max', high)}"]
        meta = []
        if shape.get("min"):
            meta.append(f"min_length={shape['min']}")
        if "max" in shape:
            meta.append(f"max_length={shape['max']}")
        if "pattern" in shape:
            # To the very end: `$` would let a newline follow.
            meta.append(f'pattern=r"\\A(?:{shape["pattern"]})\\Z"')
        return meta


def requests_source(operations: dict[str, str], shapes: Shapes) -> str:
    writer = Writer(shapes)
    for operation in BUILT:
        writer.structure(operations[operation], f"{operation}Request")
    table = [f'    "{operation}": {operation}Request,' for operation in BUILT]
    return "\n".join(
        [
            '"""The requests of all operations that are built, as types for the decoder.',
            "",
            f"Generated by tools/generate_shapes.py from botocore {botocore.__version__}; do not edit.",
            "Fields have the wire's names in snake case. A type admits valid requests only; why another was",
            "refused is for `explain` to say.",
            '"""',
            "",
            "from __future__ import annotations",
            "",
            "from typing import Annotated, Literal",
            "",
            "import msgspec",
            "",
            "from torusdb.api.names import ControlTableName, DataTableName, MapTableName, NewTableName, ResourceArn",
            "from torusdb.model.attributes import WireValue",
            "",
            "",
            'class Request(msgspec.Struct, rename="pascal", omit_defaults=True, gc=False):',
            '    """What requests and the structures in them share."""',
            *writer.lines,
            "",
            "",
            "REQUESTS: dict[str, type[Request]] = {",
            *table,
            "}",
            '"""The request type of each operation that is built."""',
            "",
        ]
    )


def formatted(source: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(API / "requests.py"), "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


def shapes_source(operations: dict[str, dict[str, str]], shapes: Shapes) -> str:
    """One shape a line, so that a newer model shows as a readable difference."""
    compact = {name: json.dumps(shape, separators=(",", ":")) for name, shape in shapes.items()}
    lines = ",\n".join(f'"{name}":{text}' for name, text in compact.items())
    version = json.dumps(botocore.__version__)
    return f'{{"botocore":{version},\n"operations":{json.dumps(operations)},\n"shapes":{{\n{lines}\n}}}}\n'


def generate() -> dict[str, str]:
    """The generated files by name."""
    operations, shapes = read_models()
    inputs = {name: shape for each in operations.values() for name, shape in each.items()}
    return {
        "shapes.json": shapes_source(operations, shapes),
        "requests.py": formatted(requests_source(inputs, shapes)),
    }


if __name__ == "__main__":
    for name, text in generate().items():
        (API / name).write_text(text)
