"""Entities: classes whose objects are items of a table."""

from __future__ import annotations

import sys
import typing
from typing import TYPE_CHECKING, Any, ClassVar, Final, dataclass_transform, get_args, get_origin

from torusdb.modeling.attributes import (
    Attr,
    Attribute,
    ComputedAttribute,
    Declared,
    ReadOnlyAttribute,
    attr,
    computed,
    ttl,
    version,
)
from torusdb.modeling.codecs import codec_of, converted_codec, or_none
from torusdb.modeling.errors import ModelError
from torusdb.modeling.hints import did_you_mean
from torusdb.modeling.keys import Key
from torusdb.modeling.model import EntityModel
from torusdb.modeling.scalars import EPOCH_SECONDS, Codec, name_of
from torusdb.modeling.table import Table

FRAMES_TO_THE_CLASS: Final = 3
"""From the function that resolves annotations to the one that declares the class."""


@dataclass_transform(kw_only_default=True, field_specifiers=(attr, computed, version, ttl))
class Entity:
    """The base of entities: `class Customer(Entity, table=shop)`. Without a table, a class is a part that entities can
    inherit attributes and keys from. `type_name` is the entity's name in the table, if not that of the class."""

    __model__: ClassVar[Any] = None
    __attributes__: ClassVar[dict[str, Attribute[Any]]] = {}
    __keys__: ClassVar[dict[str, Key]] = {}

    def __init_subclass__(cls, table: Table | None = None, type_name: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__model__ is not None:
            raise ModelError(
                f"{cls.__name__} inherits from {cls.__model__.name}, which is in a table: inherit from what is in none"
            )
        cls.__attributes__ = _attributes_of(cls)
        inherited = {
            name: key for base in reversed(cls.__mro__[1:]) for name, key in getattr(base, "__keys__", {}).items()
        }
        cls.__keys__ = inherited | {name: each for name, each in vars(cls).items() if isinstance(each, Key)}
        for name, attribute in cls.__attributes__.items():
            setattr(cls, name, attribute)
        if table is not None:
            model = EntityModel(cls, table, type_name or cls.__name__, cls.__attributes__, cls.__keys__)
            model.join()
            cls.__model__ = model

    def __init__(self, **values: Any) -> None:
        model: EntityModel[Any] | None = type(self).__model__
        if model is None:
            name = type(self).__name__
            raise TypeError(f"{name} is in no table, and has no objects: declare class {name}(Entity, table=…)")
        mine = {**model.defaults, **values}
        for name, make in model.factories.items():
            if name not in values:
                mine[name] = make()
        if mine.keys() != model.parameters:
            raise TypeError(_wrong_arguments(model, values))
        object.__setattr__(self, "__dict__", mine)

    if not TYPE_CHECKING:  # a checker knows the attributes, and would allow any if it saw this

        def __setattr__(self, name: str, value: Any) -> None:
            """Refuses what would not be stored. Names that begin with an underscore, and properties, are the class's
            own affair."""
            cls = type(self)
            if name not in cls.__attributes__ and not name.startswith("_") and not _is_settable(cls, name):
                raise AttributeError(f"{cls.__name__} has no attribute {name}{did_you_mean(name, cls.__attributes__)}")
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(self) is type(other) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # its values may change

    def __repr__(self) -> str:
        attributes = type(self).__attributes__
        shown = [
            f"{name}={getattr(self, name)!r}"
            for name, each in attributes.items()
            if not each._declared.hidden and (name in self.__dict__ or each._declared.compute is not None)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _is_settable(cls: type, name: str) -> bool:
    """Whether it is a property or its like."""
    found = next((vars(each)[name] for each in cls.__mro__ if name in vars(each)), None)
    return hasattr(found, "__set__")


def _wrong_arguments(model: EntityModel[Any], values: dict[str, Any]) -> str:
    unknown = sorted(values.keys() - model.parameters)
    if unknown:
        hint = did_you_mean(unknown[0], model.parameters)
        return f"{model.name} has no attribute {unknown[0]} that could be given{hint}"
    return f"{model.name} needs {', '.join(sorted(model.required - values.keys()))}"


def _attributes_of(cls: type[Entity]) -> dict[str, Attribute[Any]]:
    attributes: dict[str, Attribute[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        for name, inherited in getattr(base, "__attributes__", {}).items():
            attributes[name] = _attribute(cls.__name__, name, inherited._codec, inherited._declared)
    for name, annotation in cls.__annotations__.items():
        kind = _resolved(cls, name, annotation)
        if get_origin(kind) is ClassVar:
            continue
        if get_origin(kind) is not Attr:
            raise ModelError(f"{cls.__name__}.{name} is annotated with {name_of(kind)}: write Attr[{name_of(kind)}]")
        declared = vars(cls).get(name, Declared())
        if not isinstance(declared, Declared):
            declared = Declared(default=declared)
        if isinstance(declared.default, list | dict | set):
            raise ModelError(
                f"{cls.__name__}.{name} has a default that all objects would share: "
                f"write default_factory={type(declared.default).__name__}"
            )
        codec = _codec(f"{cls.__name__}.{name}", get_args(kind)[0], declared)
        attributes[name] = _attribute(cls.__name__, name, codec, declared)
    for name, value in vars(cls).items():
        if isinstance(value, Declared) and name not in attributes:
            raise ModelError(f"{cls.__name__}.{name} has no type: write {name}: Attr[…] = …")
        if get_origin(value) is Attr:
            kind = name_of(get_args(value)[0])
            raise ModelError(f"{cls.__name__}.{name} = Attr[{kind}] has = for a colon: write {name}: Attr[{kind}]")
    return attributes


def _codec(where: str, kind: Any, declared: Declared) -> Codec:
    if declared.stored_as is not None:
        return converted_codec(kind, declared.stored_as, where)
    codec = codec_of(kind, where)
    if declared.role == "version" and codec.plain is not int:
        raise ModelError(f"{where} is a version, and must be an Attr[int]")
    if declared.role != "ttl":
        return codec
    if codec.plain is not EPOCH_SECONDS.plain:
        raise ModelError(f"{where} is a TTL, and must be an Attr[datetime]")
    if codec.absent is None:
        return EPOCH_SECONDS
    return or_none(EPOCH_SECONDS, where)


def _attribute(owner: str, name: str, codec: Codec, declared: Declared) -> Attribute[Any]:
    kind: type[Attribute[Any]] = Attribute
    if declared.compute is not None:
        kind = ComputedAttribute
    elif declared.read_only:
        kind = ReadOnlyAttribute
    return kind(owner, name, codec, declared)


def _resolved(cls: type, name: str, annotation: Any) -> Any:
    """The type that an annotation stands for. One that is a text is evaluated where the class is declared: in its
    module, or in the function that declares it."""
    if not isinstance(annotation, str):
        return annotation
    names = {**vars(typing), **vars(sys.modules[cls.__module__])}
    try:
        return eval(annotation, names, sys._getframe(FRAMES_TO_THE_CLASS).f_locals)  # noqa: S307 - the user's own source
    except NameError as error:
        raise ModelError(
            f"{cls.__name__}.{name} is annotated with {annotation}, and {error.name} is not known "
            "where the class is declared"
        ) from None
