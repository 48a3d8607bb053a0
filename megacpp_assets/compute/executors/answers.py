"""Answers of worker processes as bytes, which are parsed and never executed.

A worker reads what strangers wrote, so its answer is not unpickled. The bytes are MessagePack with extensions for
tuples, sets, numpy arrays, and the dataclasses, named tuples and expected errors of this package. An object is made of
its fields by its class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

import msgpack
import numpy as np

from megacpp_assets.contract.errors import MegacppError, SchemaViolation

_PACKAGE: Final = "megacpp_assets."
_TUPLE, _SET, _FROZEN_SET, _COUNTER, _ARRAY, _RECORD, _ERROR = range(7)
_LISTED: Final = {tuple: _TUPLE, set: _SET, frozenset: _FROZEN_SET}
_BUFFER_BYTES: Final = 1 << 10
"""Room that a packer begins with. It grows; a worker that has no memory left can still say so."""
_FAULTS: Final = (ValueError, TypeError, KeyError, AttributeError, ImportError, msgpack.UnpackException)


def pack(value: object) -> bytes:
    """Return `value` as bytes. `TypeError` for an object of a type that answers may not have."""
    packed: bytes = msgpack.packb(
        value, default=_extension, strict_types=True, unicode_errors="surrogateescape", buf_size=_BUFFER_BYTES
    )
    return packed


def unpack(data: bytes) -> Any:
    """Return the value that `pack` made `data` of. `SchemaViolation` if `data` is anything else."""
    try:
        return msgpack.unpackb(data, ext_hook=_object, strict_map_key=False, unicode_errors="surrogateescape")
    except _FAULTS as error:
        found = f"{type(error).__name__}: {error}"
        raise SchemaViolation("the answer of a worker", expected="a value of this program", found=found) from error


def _extension(value: Any) -> msgpack.ExtType:
    kind: Any = type(value)
    if kind in _LISTED:
        return msgpack.ExtType(_LISTED[kind], pack(list(value)))
    if kind is Counter:
        return msgpack.ExtType(_COUNTER, pack(list(value.items())))
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        shape = list(value.shape) if isinstance(value, np.ndarray) else None
        return msgpack.ExtType(_ARRAY, pack([np.lib.format.dtype_to_descr(value.dtype), shape, value.tobytes()]))
    if isinstance(value, MegacppError):
        return msgpack.ExtType(_ERROR, pack([_name(kind), vars(value), list(value.args)]))
    if _is_record(kind):
        return msgpack.ExtType(_RECORD, pack([_name(kind), _values(value)]))
    raise TypeError(f"an answer has no {kind.__module__}.{kind.__qualname__}")


def _values(value: Any) -> list[Any]:
    kind: Any = type(value)
    return list(value) if isinstance(value, tuple) else [getattr(value, name) for name in _field_names(kind)]


def _object(code: int, data: bytes) -> Any:
    return _MAKERS[code](unpack(data))


def _array(parts: list[Any]) -> Any:
    description, shape, data = parts
    dtype = np.lib.format.descr_to_dtype(description)
    if dtype.hasobject:
        raise ValueError("an array of an answer has no objects")
    values = np.frombuffer(bytearray(data), dtype)
    return values[0] if shape is None else values.reshape(shape)


def _record(parts: list[Any]) -> Any:
    name, values = parts
    kind = _class_of(name)
    if issubclass(kind, tuple):
        return kind(*values)
    return kind(**dict(zip(_field_names(kind), values, strict=True)))


def _error(parts: list[Any]) -> MegacppError:
    name, state, arguments = parts
    kind = _class_of(name)
    error: MegacppError = kind.__new__(kind, *arguments)
    vars(error).update(state)
    return error


_MAKERS: Final[Mapping[int, Callable[[list[Any]], Any]]] = {
    _TUPLE: tuple,
    _SET: set,
    _FROZEN_SET: frozenset,
    _COUNTER: lambda items: Counter(dict(items)),
    _ARRAY: _array,
    _RECORD: _record,
    _ERROR: _error,
}


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@cache
def _is_record(kind: Any) -> bool:
    """Return whether `kind` is a dataclass that is made of its fields, or a named tuple, of this package."""
    if not kind.__module__.startswith(_PACKAGE):
        return False
    if is_dataclass(kind):
        return all(field.init for field in fields(kind))
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


@cache
def _class_of(name: str) -> Any:
    """Return the class with this name. `ValueError` if answers may not have it."""
    module, _, qualified = name.partition(":")
    kind: Any = getattr(import_module(module), qualified) if module.startswith(_PACKAGE) else None
    of_module = isinstance(kind, type) and kind.__module__ == module
    if not of_module or not (_is_record(kind) or issubclass(kind, MegacppError)):
        raise ValueError(f"an answer has no {name}")
    return kind
