"""Values between the grader and the process that runs a student's code, as JSON.

Numbers, strings, lists, tuples, dicts, None and NumPy arrays of numbers: nothing that runs code
when it is read, as a pickle would.
"""

from __future__ import annotations

import base64
import importlib
import json
import math
import sys
from typing import Any

MOST = 1 << 24  # bytes of one message: what is read from it takes some 30 times as much


def encode(value: Any) -> bytes:
    """Raises TypeError for what is none of these values."""
    return json.dumps(_plain(value), separators=(",", ":")).encode()


def decode(text: bytes) -> Any:
    """Raises ValueError for what `encoded` does not write, whatever it is."""
    try:
        return _value(json.loads(text))
    except Exception as error:
        raise ValueError(f"no value: {type(error).__name__}") from None


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    np = sys.modules.get("numpy")  # who has not loaded it has no array
    if np and isinstance(value, np.generic):
        value = np.asarray(value)
    if np and isinstance(value, np.ndarray):
        if value.dtype.kind not in "biuf":
            raise TypeError(f"an array of {value.dtype} cannot be sent")
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"array": data, "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [_plain(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[_key(key), _plain(item)] for key, item in value.items()]}
    raise TypeError(
        f"a {type(value).__name__} stands where numbers, strings, tuples, lists, dicts or NumPy "
        "arrays are expected"
    )


def _key(key: Any) -> Any:
    """A string or number: of others, and of longer numbers, a million can have one hash."""
    if isinstance(key, str) or (isinstance(key, int) and abs(key) < 1 << 60):
        return key
    raise TypeError(f"a dict's key is a {type(key).__name__}: strings and numbers are expected")


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_value(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if "float" in plain:
        return float(plain["float"])
    if "tuple" in plain:
        return tuple(_value(item) for item in plain["tuple"])
    if "dict" in plain:
        return {_key(key): _value(item) for key, item in plain["dict"]}
    np = importlib.import_module("numpy")  # not where no array comes
    dtype = np.dtype(plain["dtype"])
    if dtype.kind not in "biuf":
        raise ValueError(f"an array of {dtype}")
    flat = np.frombuffer(base64.b64decode(plain["array"], validate=True), dtype)
    return flat.reshape(plain["shape"]).copy()
