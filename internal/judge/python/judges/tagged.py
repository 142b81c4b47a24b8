"""Python values as JSON that keeps what JSON cannot say.

Each value becomes {"t": tag, "v": text} or {"t": tag, "i": items}. Mappings keep
their order and hold key, value, key, value, ... so that 1 and "1" differ as keys.
"""

import base64
import datetime
import sys

# A YAML document may hold integers longer than Python prints by default.
if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)


def tag(value, parents=()):
    if value is None:
        return {"t": "null"}
    if isinstance(value, bool):
        return {"t": "bool", "v": "true" if value else "false"}
    if isinstance(value, int):
        return {"t": "int", "v": str(value)}
    if isinstance(value, float):
        return {"t": "float", "v": repr(value)}
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bytes):
        return {"t": "bytes", "v": base64.b64encode(value).decode()}
    if isinstance(value, datetime.datetime):
        return {"t": "datetime", "v": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"t": "date", "v": value.isoformat()}
    if id(value) in parents:
        return {"t": "cycle"}
    parents = parents + (id(value),)
    if isinstance(value, dict):
        items = []
        for key, item in value.items():
            items += [tag(key, parents), tag(item, parents)]
        return {"t": "map", "i": items}
    if isinstance(value, set):
        ordered = sorted(value, key=repr)
        return {"t": "set", "i": [tag(item, parents) for item in ordered]}
    if isinstance(value, (list, tuple)):
        return {"t": "list", "i": [tag(item, parents) for item in value]}
    return {"t": type(value).__name__, "v": str(value)}


def _string(value):
    """A lone surrogate has no place in UTF-8: such a string is tagged apart."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        text = value.encode("utf-8", "backslashreplace").decode()
        return {"t": "surrogates", "v": text}
    return {"t": "str", "v": value}


def error(exception):
    text = "%s: %s" % (type(exception).__name__, exception)
    return text.encode("utf-8", "backslashreplace").decode()
