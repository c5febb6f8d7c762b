"""The name of a kernel in reports: with its class, function or module where its own name says nothing.

A kernel that is a class attribute is often called `kernel`, and several of those in one table are not told apart. The
same name comes out of the source, of a running program and of the cache, so that all three are compared by it.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import PurePath

_GENERIC = frozenset({"kernel", "fn", "func", "function", "jit", "jitted"})
_PLACES = re.compile(r"<locals>|#\d+")


def is_generic(name: str) -> bool:
    """Return whether `name` only says that it is a kernel: `_kernel`, `fn`, `triton_kernel2`."""
    words = {word.rstrip("0123456789") or word for word in name.lower().split("_")} - {"", "triton"}
    return bool(words) and words <= _GENERIC


def report_name(qualname: str, path: str) -> str:
    """Return the name of the function `qualname` of the file at `path` in reports: `add_rows`.

    A name that says nothing, such as `kernel`, follows that of its class or outer function, else of its module:
    `Pack.kernel`. For the `__init__.py` of a package the module is the folder.
    """
    *outer, name = [part for part in _PLACES.sub("", qualname).split(".") if part]
    if not is_generic(name):
        return name
    file = PurePath(path.replace("\\", "/"))
    module = file.parent.name if file.stem == "__init__" else file.stem
    around = outer[-1] if outer else module if file.suffix == ".py" else ""
    return f"{around}.{name}" if around.isidentifier() else name


def matches(name: str, pattern: str) -> bool:
    """Return whether a `report_name`, or the function's own name in it, matches `pattern`, a name or a glob."""
    return fnmatchcase(name, pattern) or fnmatchcase(function_name(name), pattern)


def function_name(name: str) -> str:
    """Return the function's own name in a `report_name`."""
    return name.rpartition(".")[2]
