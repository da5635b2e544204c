"""What the REST interface answers with: a class for each entity, made from it, so that OpenAPI knows them all."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, Union, get_args

from pydantic import BaseModel, Field, PlainSerializer, WithJsonSchema, create_model

from torusdb.modeling import Entity

Money = Annotated[
    Decimal,
    PlainSerializer(lambda amount: f"{amount:.2f}", return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^-?[0-9]+\.[0-9]{2}$"}),
]
"""A text, since a number of JSON is a binary fraction to most who read it."""


_MADE: Final[dict[type[Entity], type[BaseModel]]] = {}
"""One class of each, so that OpenAPI has it once."""


def answer_of(kind: type[Entity]) -> type[BaseModel]:
    if kind not in _MADE:
        _MADE[kind] = _made(kind)
    return _MADE[kind]


def _made(kind: type[Entity]) -> type[BaseModel]:
    hints = typing.get_type_hints(kind)
    members: dict[str, Any] = {"kind": (Literal[kind.__name__], ...)}
    for name in kind.__model__.attributes:
        (declared,) = get_args(hints[name])
        members[name] = (Money if declared is Decimal else declared, ...)
    return create_model(kind.__name__, __doc__=kind.__doc__ and " ".join(kind.__doc__.split()), **members)


def page_of(kinds: Sequence[type[Entity]]) -> type[BaseModel]:
    """`cursor` goes on behind the last of the items."""
    models = [answer_of(kind) for kind in kinds]
    item: Any = models[0]
    if len(models) > 1:
        item = Annotated[Union[tuple(models)], Field(discriminator="kind")]  # noqa: UP007 - of so many as there are
    cursor = Field(description="Give it as `cursor` to read on; null at the end.", examples=[None])
    return create_model(
        f"{'Or'.join(kind.__name__ for kind in kinds)}Page", items=(list[item], ...), cursor=(str | None, cursor)
    )


def content(entity: Entity) -> dict[str, Any]:
    kind = type(entity)
    return {"kind": kind.__name__} | {name: getattr(entity, name) for name in kind.__model__.attributes}


def contents(entities: Sequence[Entity]) -> list[dict[str, Any]]:
    return [content(each) for each in entities]
