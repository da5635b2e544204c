"""How Python values are stored: one converter for each type, made once, when a model is declared.

Theory of operation. `codec_of(type)` gives a `Codec`: a pair of closures between a value and the wire's dict of one
member (`{"S": "x"}`), and the wire types it writes. No type is looked at again when values pass through.

What is absent: None and the empty set have no value in an item, so `encode` answers None for "leave it out", and a
reader takes what `absent` makes where nothing is stored.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Generic, Literal, TypeVar, Union, get_args, get_origin

from torusdb.modeling.errors import InvalidValue, ModelError
from torusdb.modeling.scalars import SCALARS, Codec, Wire, enum_codec, literal_codec, name_of, refuse, uuid_codec

T = TypeVar("T")
S = TypeVar("S")


def codec_of(kind: Any, where: str) -> Codec:
    """The codec of a type; `where` names the class and the attribute for the refusal of a type that has none."""
    found = SCALARS.get(kind) if _hashable(kind) else None
    if found is not None:
        return found
    origin = get_origin(kind)
    if origin is Union or origin is types.UnionType:
        return _union(get_args(kind), where)
    if origin is Literal:
        return literal_codec(get_args(kind), where)
    if origin in _CONTAINERS:
        return _CONTAINERS[origin](get_args(kind), where)
    if isinstance(kind, type):
        if issubclass(kind, Enum):
            return enum_codec(kind, where)
        if kind.__module__ == "uuid" and kind.__name__ == "UUID":
            return uuid_codec(kind)
        if hasattr(kind, "__dataclass_fields__"):
            return _dataclass(kind, where)
    raise ModelError(f"{where} has the type {name_of(kind)}, which cannot be stored")


def _hashable(kind: Any) -> bool:
    try:
        hash(kind)
    except TypeError:
        return False
    return True


def _list(arguments: tuple[Any, ...], where: str) -> Codec:
    element = _inside(codec_of(arguments[0], where))
    encode_one, decode_one = _encode_inside(element), element.decode

    def encode(value: Any) -> Wire:
        if not isinstance(value, list):
            raise refuse(value, "a list")
        return {"L": [encode_one(each) for each in value]}

    def decode(wire: Wire) -> list[Any]:
        return [decode_one(each) for each in wire["L"]]

    return Codec(list, "L", encode, decode, takes=(list,), element=element)


def _tuple(arguments: tuple[Any, ...], where: str) -> Codec:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        inner = _list(arguments, where)
        return Codec(
            tuple,
            "L",
            lambda value: inner.encode(_checked_tuple(value, None)[0]),
            lambda wire: tuple(inner.decode(wire)),
            takes=(tuple,),
            element=inner.element,
        )
    codecs = [codec_of(each, where) for each in arguments]
    encoders = [_encode_inside(codec) for codec in codecs]

    def encode(value: Any) -> Wire:
        values, _ = _checked_tuple(value, len(encoders))
        return {"L": [each(one) for each, one in zip(encoders, values, strict=True)]}

    def decode(wire: Wire) -> tuple[Any, ...]:
        return tuple(codec.decode(one) for codec, one in zip(codecs, wire["L"], strict=True))

    return Codec(tuple, "L", encode, decode, takes=(tuple,), parts=tuple(codecs))


def _checked_tuple(value: Any, length: int | None) -> tuple[list[Any], int]:
    if not isinstance(value, tuple) or length not in {None, len(value)}:
        raise refuse(value, "a tuple" + (f" of {length}" if length is not None else ""))
    return list(value), len(value)


def _set_of(container: type) -> Callable[[tuple[Any, ...], str], Codec]:
    def make(arguments: tuple[Any, ...], where: str) -> Codec:
        element = codec_of(arguments[0], where)
        if element.kinds not in {("S",), ("N",), ("B",)} or element.absent is not None:
            raise ModelError(f"{where} is a set of {name_of(arguments[0])}; sets are of texts, numbers or bytes")
        letter = element.kinds[0]
        kind = letter + "S"

        def encode(value: Any) -> Wire | None:
            if not isinstance(value, set | frozenset):
                raise refuse(value, f"a {container.__name__}")
            wires = [element.encode(each) for each in value]
            return {kind: sorted(wire[letter] for wire in wires if wire is not None)} if wires else None

        def decode(wire: Wire) -> Any:
            return container(element.decode({letter: each}) for each in wire[kind])

        return Codec(container, kind, encode, decode, takes=(container,), absent=container, element=element)

    return make


def _dict(arguments: tuple[Any, ...], where: str) -> Codec:
    if arguments[0] is not str:
        raise ModelError(f"{where} is a dict with keys of {name_of(arguments[0])}; keys of a dict must be str")
    element = _inside(codec_of(arguments[1], where))
    encode_one, decode_one = _encode_inside(element), element.decode

    def encode(value: Any) -> Wire:
        if not isinstance(value, dict):
            raise refuse(value, "a dict")
        return {"M": {_text_key(name): encode_one(each) for name, each in value.items()}}

    def decode(wire: Wire) -> dict[str, Any]:
        return {name: decode_one(each) for name, each in wire["M"].items()}

    return Codec(dict, "M", encode, decode, takes=(dict,), element=element)


def _text_key(name: Any) -> str:
    if not isinstance(name, str):
        raise refuse(name, "a str, as keys of a dict must be")
    return name


def _inside(codec: Codec) -> Codec:
    """Of what stands in a list, a dict, or where a default would stand in for it: None has to be stored there."""
    return codec.keeping_none() if codec.absent is nothing else codec


def _encode_inside(codec: Codec) -> Callable[[Any], Wire]:
    """Within a list or a dict nothing can be left out: None is stored as such, an empty set is refused."""

    def encode(value: Any) -> Wire:
        wire = codec.encode(value)
        if wire is not None:
            return wire
        if value is None:
            return {"NULL": True}
        raise InvalidValue("An empty set cannot be stored within a list or a dict")

    return encode


def _dataclass(kind: Any, where: str) -> Codec:
    from dataclasses import MISSING, fields
    from typing import get_type_hints

    try:
        hints = get_type_hints(kind)
    except NameError as error:
        raise ModelError(
            f"{where} has the type {kind.__name__}, whose annotations name {error.name!r}, unknown here"
        ) from None
    members = {each.name: codec_of(hints[each.name], f"{where}.{each.name}") for each in fields(kind) if each.init}
    required = {
        each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING
    } & members.keys()
    # A default stands in for what was never stored, so None has to be stored where a default is something else.
    absent: dict[str, Callable[[], Any]] = {
        name: codec.absent
        for name, codec in members.items()
        if codec.absent is not None and (name in required or codec.absent is not nothing)
    }
    members = {name: codec if name in absent else _inside(codec) for name, codec in members.items()}
    encoders = [(name, codec.encode) for name, codec in members.items()]

    def encode(value: Any) -> Wire:
        if type(value) is not kind:
            raise refuse(value, f"a {kind.__name__}")
        wires = {}
        for name, encode_one in encoders:
            wire = encode_one(getattr(value, name))
            if wire is not None:
                wires[name] = wire
            elif name not in absent:
                wires[name] = {"NULL": True}
        return {"M": wires}

    def decode(wire: Wire) -> Any:
        stored = wire["M"]
        values = {name: codec.decode(stored[name]) for name, codec in members.items() if name in stored}
        for name, make in absent.items():
            if name not in values:
                values[name] = make()
        try:
            return kind(**values)
        except TypeError:
            missing = ", ".join(sorted(required - values.keys()))
            raise InvalidValue(f"A {kind.__name__} is stored without {missing}") from None

    return Codec(kind, "M", encode, decode, takes=(kind,), members=members)


def _union(arguments: tuple[Any, ...], where: str) -> Codec:
    optional = type(None) in arguments
    codecs = [codec_of(each, where) for each in arguments if each is not type(None)]
    inner = codecs[0] if len(codecs) == 1 else _tellable_apart(codecs, where)
    if not optional:
        return inner
    return or_none(inner, where)


def or_none(inner: Codec, where: str) -> Codec:
    if inner.absent is not None:
        raise ModelError(
            f"{where} may be an empty {inner.plain.__name__} or None, which are stored alike: leave out the None"
        )
    encode_inner, decode_inner = inner.encode, inner.decode

    def encode(value: Any) -> Wire | None:
        return None if value is None else encode_inner(value)

    def decode(wire: Wire) -> Any:
        return None if "NULL" in wire else decode_inner(wire)

    return Codec(
        inner.plain,
        inner.kinds,
        encode,
        decode,
        takes=(*inner.takes, type(None)),
        absent=nothing,
        element=inner.element,
        members=inner.members,
        converted=inner.converted,
        parts=inner.parts,
    )


class StoredAs(Generic[T, S]):
    """How values of a type that cannot be stored, or should not be stored as they are, become values of one that can:
    `body: Attr[str] = attr(stored_as=StoredAs(bytes, write=compressed, read=decompressed))`."""

    def __init__(self, kind: type[S], *, write: Callable[[T], S], read: Callable[[S], T]) -> None:
        self.kind = kind
        self.write = write
        self.read = read


def converted_codec(kind: Any, stored_as: StoredAs[Any, Any], where: str) -> Codec:
    inner = codec_of(stored_as.kind, where)
    if inner.absent is not None:
        raise ModelError(f"{where} is stored as {name_of(stored_as.kind)}, which may be nothing: store something else")
    encode_inner, decode_inner, write, read = inner.encode, inner.decode, stored_as.write, stored_as.read
    plain = [each for each in get_args(kind) if each is not type(None)] if type(None) in get_args(kind) else [kind]
    codec = Codec(
        Union[tuple(plain)],  # noqa: UP007 - made of a list
        inner.kinds,
        lambda value: encode_inner(write(value)),
        lambda wire: read(decode_inner(wire)),
        converted=True,
    )
    return codec if plain == [kind] else or_none(codec, where)


def nothing() -> None:
    return None


def _tellable_apart(codecs: list[Codec], where: str) -> Codec:
    kinds = [kind for codec in codecs for kind in codec.kinds]
    if len(set(kinds)) < len(kinds) or any(codec.absent for codec in codecs):
        names = " and ".join(name_of(codec.plain) for codec in codecs)
        raise ModelError(f"{where} may be {names}, which cannot be told apart once they are stored")
    by_type = {kind: codec for codec in codecs for kind in codec.takes}
    by_wire = {kind: codec.decode for codec in codecs for kind in codec.kinds}
    wanted = " or ".join(name_of(codec.plain) for codec in codecs)

    def encode(value: Any) -> Wire | None:
        codec = by_type.get(type(value))
        if codec is None:
            raise refuse(value, wanted)
        return codec.encode(value)

    def decode(wire: Wire) -> Any:
        return by_wire[next(iter(wire))](wire)

    return Codec(
        Union[tuple(codec.plain for codec in codecs)],  # noqa: UP007 - made of a list
        tuple(kinds),
        encode,
        decode,
        takes=tuple(by_type),
        parts=tuple(codecs),
    )


_CONTAINERS: Final[dict[Any, Callable[[tuple[Any, ...], str], Codec]]] = {
    list: _list,
    tuple: _tuple,
    set: _set_of(set),
    frozenset: _set_of(frozenset),
    dict: _dict,
}
