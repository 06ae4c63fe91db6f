"""JSON from and to records: decoders are made once for each dataclass, from its annotations."""

from __future__ import annotations

import dataclasses
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Callable, Dict, List, Literal, Tuple, Type, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")
Decoder = Callable[[Any], Any]


class DecodeError(ValueError):
    """A response or message that does not have the documented form."""


def _scalar(kind: type) -> Decoder:
    def decode(value: Any) -> Any:
        # true and false are no numbers
        if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        raise DecodeError(f"expected {kind.__name__}, got {value!r:.64}")

    return decode


def _decimal(value: Any) -> Decimal:
    try:
        if isinstance(value, str):
            return Decimal(value)
    except InvalidOperation:
        pass
    raise DecodeError(f"expected a decimal as text, got {value!r:.64}")


def _number(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise DecodeError(f"expected a number, got {value!r:.64}")


def _optional(decode: Decoder, is_empty_none: bool) -> Decoder:
    return lambda value: None if value is None or (is_empty_none and value == "") else decode(value)


def _list(decode: Decoder) -> Decoder:
    def decode_all(value: Any) -> List[Any]:
        if not isinstance(value, list):
            raise DecodeError(f"expected a list, got {value!r:.64}")
        return [decode(one) for one in value]

    return decode_all


def _tuple(decoders: Tuple[Decoder, ...]) -> Decoder:
    def decode_all(value: Any) -> Tuple[Any, ...]:
        if not isinstance(value, list) or len(value) != len(decoders):
            raise DecodeError(f"expected a list of {len(decoders)}, got {value!r:.64}")
        return tuple(decode(one) for decode, one in zip(decoders, value))

    return decode_all


def _decoder(annotation: Any) -> Decoder:
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return lambda value: value
    if annotation is Decimal:
        return _decimal
    if annotation is float:
        return _number
    if origin is Literal:
        # other values are new ones of the gateway
        return _scalar(type(args[0]))
    if origin is Union:
        (inner,) = [one for one in args if one is not type(None)]
        return _optional(_decoder(inner), inner is Decimal or get_origin(inner) is Literal)
    if origin is list:
        return _list(_decoder(args[0]))
    if origin is tuple:
        return _tuple(tuple(_decoder(one) for one in args))
    if origin is dict:
        return _scalar(dict)
    if dataclasses.is_dataclass(annotation):
        return _record(annotation)
    return _scalar(annotation)


@lru_cache(maxsize=None)
def _record(record: Any) -> Decoder:
    hints = get_type_hints(record)
    fields = [
        (field.name, _decoder(hints[field.name]), field.default is dataclasses.MISSING)
        for field in dataclasses.fields(record)
    ]

    def decode(value: Any) -> Any:
        if not isinstance(value, dict):
            raise DecodeError(f"expected {record.__name__}, got {value!r:.64}")
        known: Dict[str, Any] = {}
        for name, decode_field, is_required in fields:
            if name in value:
                try:
                    known[name] = decode_field(value[name])
                except DecodeError as error:
                    raise DecodeError(f"{record.__name__}.{name}: {error}") from None
            elif is_required:
                raise DecodeError(f"{record.__name__}.{name} is missing")
        return record(**known)

    return decode


def decode(record: Type[T], value: Any) -> T:
    """The record of a JSON value. Fields that the record does not have are ignored."""
    return cast(T, _record(cast(Any, record))(value))


def text_of(value: Decimal) -> str:
    """A decimal as the gateway writes it: without an exponent."""
    return format(value, "f")


def encode(value: Any, field: str = "value") -> Any:
    """The JSON value of an input, or of a record. Absent fields are left out."""
    if isinstance(value, Decimal):
        return text_of(value)
    if isinstance(value, float):
        raise TypeError(f"{field}: expected a Decimal or text, got the float {value!r}, which is not exact")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {name: encode(one, name) for name, one in value.items() if one is not None}
    if isinstance(value, (list, tuple)):
        return [encode(one, field) for one in value]
    return value
