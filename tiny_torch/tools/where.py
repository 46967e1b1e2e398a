"""`python -m tiny_torch where exp`: a name's way from Python to its kernels and its tests.

Nothing is listed by hand. A function's ops are those that its code names, or else the code of what
it calls; an op's C++ is what its forward and backward name; C++ and tests are searched as text.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections.abc import Iterable, Iterator
from linecache import getlines
from operator import attrgetter
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import tiny_torch
from tiny_torch import _core, reference
from tiny_torch.autograd.graph import Op
from tiny_torch.compat import absent

SPACES = (
    *("", "nn.functional.", "Tensor.", "nn.", "optim.", "linalg.", "utils.data.", "autograd."),
    *("nn.utils.", "nn.init.", "optim.lr_scheduler.", "distributed.", "utils.checkpoint."),
)
HELPERS = "cast", "creation"  # whose kernels others call on the way to theirs
DEVICES = "cpu", "cuda"  # that have kernels in src
OURS = re.compile(r"tiny_torch(?!\.autograd)")  # whose functions lead to the ops that they are for
Found = tuple[Path, int, str]  # a line of a file


def resolve(name: str) -> tuple[str, Any] | None:
    """(torch's full name, its value); None where tiny_torch has no such name."""
    short = re.sub(r"^F\.", "nn.functional.", re.sub(r"^(tiny_)?torch\.", "", name))
    for space in SPACES:
        with contextlib.suppress(AttributeError):
            return f"torch.{space}{short}", attrgetter(space + short)(tiny_torch)
    return None


def plain(function: Any) -> Any:
    """The function behind its wrappers; None where there is no Python."""
    function = getattr(function, "fget", None) or getattr(function, "__func__", function)
    while inner := getattr(function, "__wrapped__", None):
        function = inner
    return function if isinstance(function, FunctionType) else None


def held(function: Any) -> list[Any]:
    """What a function's closure holds."""
    return [cell.cell_contents for cell in getattr(plain(function), "__closure__", None) or ()]


def names(function: Any) -> list[str]:
    """The names in a function's code, and those that it holds: of getattr(x, name), of methods."""
    codes: list[Any] = [getattr(plain(function), "__code__", None)]
    for code in codes:  # and those inside of it
        codes += [c for c in getattr(code, "co_consts", ()) if isinstance(c, CodeType)]
    spelt = [name for code in codes for name in getattr(code, "co_names", ())]
    texts = [getattr(value, "__name__", value) for value in held(function)]
    return list(dict.fromkeys(spelt + [text for text in texts if isinstance(text, str)]))


def values_named(function: Any, owner: Any) -> Iterator[Any]:
    """What these names are: globals, members of modules and dicts, attributes of `owner`."""
    yield from held(function)
    for name in (spelt := names(function)):
        value = getattr(plain(function), "__globals__", {}).get(name)
        yield from value.values() if isinstance(value, dict) else [value]
        yield getattr(owner, name, None)
        if isinstance(value, ModuleType) and value.__name__.startswith("tiny_torch"):
            yield from [vars(value)[n] for n in spelt if n in vars(value)]


def reachable(name: str, value: Any, kind: type, methods_of: Any = None) -> list[Any]:
    """Subclasses or instances of `kind` that the first calls name; a class's, if named like it."""
    owner = value if isinstance(value, type) else None
    layer = getattr(value, "forward", None if owner else value)
    level = [layer] if layer else [f for f in vars(value).values() if plain(f)]
    like, seen, found = re.sub(r"_|\dd$", "", name.rpartition(".")[2]).lower(), set(), []
    for _ in range(6):
        values = list(
            {id(x): x for f in level for x in values_named(f, methods_of or owner)}.values()
        )
        here = [x for x in values if kind in (getattr(x, "__mro__", None) or (x, type(x)))[1:]]
        found += here
        alike = [x for x in here if like in x.__name__.replace("_", "").lower()]
        if alike or (here and not owner and not methods_of):
            return sorted(alike, key=lambda x: len(x.__name__)) or here  # `like` itself first
        level = [f for f in map(plain, values) if f and OURS.match(f.__module__) and f not in seen]
        seen |= set(level)
    return found[:2] if layer and not methods_of else []


def place(value: Any) -> Found | None:
    """Where a function or a class stands; an op may have been made by a function."""
    if isinstance(value, type):
        homes = [f.__code__.co_filename for f in map(plain, vars(value).values()) if f]
        homes.insert(0, str(getattr(sys.modules.get(value.__module__), "__file__", "")))
        paths = [Path(home) for home in homes if home.endswith(".py")]
        pattern = rf"^(class {value.__name__}\b|{value.__name__}(: \w+)? = )"
        return next(find(pattern, [*paths, *files("tiny_torch", ".py")]), None)
    if isinstance(value, ModuleType) or plain(value) is None:
        file = getattr(value, "__file__", None)
        return (Path(file), 1, getlines(file)[0]) if file else None
    code = plain(value).__code__
    lines = find(r"\bdef |lambda", [Path(code.co_filename)])
    return next((line for line in lines if line[1] >= code.co_firstlineno), None)


@functools.cache
def files(folder: str, *endings: str) -> tuple[Path, ...]:
    paths = (Path(tiny_torch.__file__).parents[1] / folder).rglob("*")
    return tuple(sorted([path for path in paths if path.suffix in endings]))


def sources_of(device: str) -> tuple[Path, ...]:
    return files(f"src/{device}", ".cpp", ".h", ".cu")


def shared_sources() -> tuple[Path, ...]:
    """What the kernels of several devices are made of."""
    others = {"api", "program", "tables"}
    return tuple([p for p in files("src/core", ".h") if not others & {*p.parts}])


def find(pattern: str, paths: Iterable[Path]) -> Iterator[Found]:
    has = re.compile(pattern).search
    lines = ((p, n, text) for p in paths for n, text in enumerate(getlines(str(p)), 1))
    return (line for line in lines if has(line[2]))


def cpp(entry: str) -> Iterator[tuple[str, Found]]:
    """From a name in _core to its kernels: by its record in ops.def, or by its function."""
    sources = files("src", ".cpp", ".h")
    for record in find(rf"^[A-Z]+\({entry},", files("src", ".def")):
        yield "record", record
        kind, *words = re.findall(r"(\w+)\(", record[2])
        for word in words:  # on a GPU it may be another, of numbers instead of vectors
            for own in (files("src/cpu", ".h"), shared_sources(), sources_of("cuda")):
                yield from [("formula", x) for x in find(rf"^[\w<> ]* {word}\([\w<>]+ x", own)][:1]
        expands = rf"^#define {kind}\("
        shared = [path.name for path, _, _ in find(rf"{expands}.* fill<", shared_sources())]
        here = "|".join([expands, *[rf'^#include "core/(\w+/)?{header}"' for header in shared]])
        for device in DEVICES:
            yield from [(device, x) for x in find(here, sources_of(device))]
        return
    bound = " ".join([text for _, _, text in find(rf'\("{entry}"', sources)])
    pair = re.search(rf'<(\w+)>+\("{entry}"|\("{entry}", (\w+)', bound)
    name = (pair[1] or pair[2]) if pair else entry
    of_devices = [path for device in DEVICES for path in sources_of(device)]
    api = [path for path in files("src", ".cpp") if path not in of_devices]
    for found in find(rf"^[A-Za-z][\w:<>,&* ]*[ *:]{name}\([^;]*$", api):
        yield "C++", found
        text = getlines(str(found[0]))
        body = kernels(found[0], "".join(text[found[1] :]).partition("\n}")[0])
        yield from list(body) or kernels(found[0], "".join(text))


def kernels(path: Path, code: str) -> Iterator[tuple[str, Found]]:
    """The entries of a device's tables that code calls; and what takes arguments of such a type."""
    calls = dict.fromkeys(re.findall(r"(\w+)(?:\(\w*\))?(?:->|\.)(?=(\w+))", code))
    for header, start, struct in find(r"^struct \w+Table {", files("src/core", ".h")):
        if header.stem in HELPERS and header.stem != path.stem:
            continue
        end = next(n for _, n, _ in find("^};", [header]) if n > start)
        for owner, word in calls if any(find(rf'^#include.*/{header.name}"', [path])) else ():
            for row in find(rf"^  \S.*(\(\*|\W){word}[\[);]", [header]):
                family = owner.replace("_", "")
                if start < row[1] < end and (owner == "kernels" or family in struct.lower()):
                    yield "table", row
                    kinds = "|".join(re.findall(r"\b[A-Z]\w+", row[2])) or word
                    for _, _, alias in find(rf"^ *using ({kinds}) = ", [header]):
                        kinds = "|".join(re.findall(r"\b[A-Z]\w+", alias.partition("=")[2]))
                    places = {device: sources_of(device) for device in DEVICES}
                    if kinds.endswith("Args"):
                        places = {"core": shared_sources(), **places}
                    of_iter = rf"\b({word}\(const Iter&|Kernel entry\()"
                    taken = of_iter if kinds == "Kernel" else rf"\b({kinds})\b"
                    for device, sources in places.items():
                        takers = list(find(rf"^(?! *(enum|using))[^/]*{taken}", sources))
                        own = [x for x in takers if x[0].parent.name == header.stem] or takers
                        same = [x for x in own if re.search(rf"\b(run_)?{word}\(", x[2])]
                        near = [x for x in own if word in x[0].stem]
                        yield from [(device, x) for x in (same or near or own)[:2]]


def way(name: str, value: Any) -> Iterator[tuple[str, Found | None]]:
    yield name, place(value)
    forward = vars(value).get("forward") if isinstance(value, type) else None
    yield from [("function", place(f)) for f in held(forward) if plain(f)]  # whose layer it is
    ops = reachable(name, value, Op)
    called = [] if ops else reachable(name, value, BuiltinFunctionType)
    direct = [line for entry in called for line in cpp(entry.__name__)]
    if "cpu" not in dict(direct):
        ops = ops or reachable(name, value, Op, tiny_torch.Tensor)
    yield from [] if ops else direct
    for op in ops:
        yield op.__name__, place(op)
        for part in ("forward", "backward", "composite"):
            yield part, place(getattr(op, part))
            yield from [("", place(formula)) for formula in held(getattr(op, part))]
            known = getattr(plain(getattr(op, part)), "__globals__", {})
            told = [value for n in dir(op) if isinstance(value := getattr(op, n), str)]
            if isinstance(getattr(op, part), _core.Method):
                told.append(getattr(op, part).name)
            for entry in [*names(getattr(op, part)), *told] if part != "composite" else ():
                ours = getattr(_core, entry, None)
                if known.get(entry, ours) is not ours:  # Python's own, by the same name
                    continue
                if any(map(callable, (ours, getattr(_core.NDArray, entry, None)))):
                    yield from cpp(entry)
                if part == "forward" and entry in reference.METHODS:
                    own = [p for p in files("tiny_torch", ".py") if "reference" in str(p)]
                    yield from [
                        ("ref", x) for x in find(rf'^\s+(def {entry}\(|"{entry}": \()', own)
                    ]
    tests = sorted(files("tests", ".py"), key=lambda path: "cases" not in path.name)
    last = name.rpartition(".")[2].rstrip("_")
    lines = [*find(rf'\("{last}["\s]', tests), *find(rf"\.{last}\(", tests)]
    yield from [("test", line) for line in lines[:3] if files("src", ".def")]


def main(arguments: list[str]) -> int:
    """Prints `path:line` and what stands there; 2 for a name that is not here."""
    found = resolve(arguments[0]) if len(arguments) == 1 else None
    if found is None:
        print(
            absent.unknown_text(arguments[0]) if arguments else "where which name?", file=sys.stderr
        )
        return 2
    seen, here = set[Any](), f"{Path.cwd()}/"
    for what, at in way(*found):
        if at is not None and at[:2] not in seen:
            seen.add(at[:2])
            print(f"{what:11} {str(at[0]).removeprefix(here)}:{at[1]}  {at[2].strip()[:80]}")
    if not files("src", ".def"):
        print("This installation has no C++ sources and no tests; a clone of the repository has.")
    return 0
