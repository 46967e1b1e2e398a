"""What a solution may contain: no way around the task.

A task is over a framework that works, so `return their_function(x)` would always do. A file may
import, or include, what its task lists; Python must not look into the interpreter, and C++ must
not reach the framework, the process or the compiler's files.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from threading import Lock
from types import ModuleType


def broken_by(text: str, language: str, imports: tuple[str, ...]) -> str:
    """The first rule of its language that a file breaks, with its line; empty if it keeps them all.

    Raises SyntaxError for what is no Python.
    """
    if language == "python":
        return first_breach(text, imports)
    return broken_cpp(text, imports, OF_CUDA if language == "cuda" else OF_CPP)


# ---- Python ------------------------------------------------------------------------------------

# What a name of typing says is a type. Its functions are not for a solution: they evaluate text.
TYPES = set(
    """
    Annotated Any Callable ClassVar Dict Final FrozenSet Generator Generic Iterable Iterator List
    Literal Mapping NamedTuple Never NoReturn Optional ParamSpec Protocol Self Sequence Set
    SupportsFloat SupportsIndex SupportsInt Tuple Type TypeAlias TypedDict TypeVar Union cast final
    overload override runtime_checkable
    """.split()
)
ALWAYS = ("__future__", "typing", "collections.abc", "math")
# names that run text, open files, or reach what is not given
REFUSED = {
    "__builtins__", "__import__", "__loader__", "__spec__", "attrgetter", "breakpoint", "compile",
    "delattr", "eval", "exec", "getattr", "globals", "locals", "memoryview", "methodcaller", "open",
    "setattr", "vars",
}  # fmt: skip

# A class is graded by threads, and CPython before 3.11.8 and 3.12.2 counts the depth of a tree for
# the whole process: two threads that parse at a time fail with "recursion depth mismatch"
# (https://github.com/python/cpython/issues/106905).
PARSING = Lock()


def first_breach(text: str, imports: tuple[str, ...]) -> str:
    """The first rule that a file breaks, with its line; empty if it keeps them all.

    Raises SyntaxError for what is no Python.
    """
    try:
        with PARSING:
            tree = ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "nested too deeply") from None
    allowed = (*ALWAYS, *imports)
    for node in ast.walk(tree):
        found = ""
        if isinstance(node, ast.Import | ast.ImportFrom):
            found = broken_import(node, allowed)
        elif isinstance(node, ast.Name):
            found = refused_name(node.id)
        elif isinstance(node, ast.Attribute):
            found = refused_name(node.attr) if node.attr in REFUSED else is_hidden_name(node.attr)
        elif isinstance(node, ast.MatchClass):
            found = next(filter(None, map(is_hidden_name, node.kwd_attrs)), "")
        if found:
            return f"line {getattr(node, 'lineno', 0)}: {found}"
    return ""


def broken_import(node: ast.Import | ast.ImportFrom, allowed: tuple[str, ...]) -> str:
    """A module that is not allowed; or a module within an allowed one, such as typing.sys."""
    names = [alias.name for alias in node.names]
    modules = names if isinstance(node, ast.Import) else ["." * node.level + (node.module or "")]
    wrong = [name for name in modules if name not in allowed]
    if wrong:
        return f"imports {', '.join(wrong)}; a solution needs {', '.join(allowed)}"
    if isinstance(node, ast.Import):
        # `import a.b` binds a, whose modules are all others
        holders = [name for name in names if "." in name or modules_in(name)]
        return f"write `from {holders[0]} import ...`" if holders else ""
    inner = modules_in(modules[0])
    wrong = [name for name in names if name == "*" or name in inner]
    if wrong:
        return f"imports {', '.join(wrong)} from {modules[0]}; name the functions that you need"
    wrong = [name for name in names if modules[0] == "typing" and name not in TYPES]
    found = next(filter(None, (refused_name(name) or is_hidden_name(name) for name in names)), "")
    return found or (f"imports {wrong[0]} from typing, which is no type" if wrong else "")


def modules_in(name: str) -> list[str]:
    return [
        key for key, value in vars(import_module(name)).items() if isinstance(value, ModuleType)
    ]


def refused_name(name: str) -> str:
    return f"`{name}` is not for a solution" if name in REFUSED else ""


def is_hidden_name(name: str) -> str:
    """Attributes through which a function reaches frames, modules and classes."""
    special = (
        name.startswith("__") and name.endswith("__") and name not in ("__init__", "__class__")
    )
    inner = name.startswith(("f_", "gi_", "cr_", "ag_", "tb_", "co_"))
    return f"`.{name}` looks into the interpreter" if special or inner else ""


# ---- C++ and CUDA ------------------------------------------------------------------------------

HEADERS = ("cstddef", "cstdint")
DIRECTIVES = {
    "", "define", "elif", "else", "endif", "error", "if", "ifdef", "ifndef", "include", "pragma",
    "undef",
}  # fmt: skip
PRAGMAS = r"omp\b|once$|unroll\b|GCC (?:unroll|ivdep)\b"
# names that reach the compiler, other libraries, files and processes; the namespaces of attributes;
# what hands a kernel to the framework, or to Python
# A name that the language leaves to its implementation, but for these
RESERVED = re.compile(r"\w*__\w*|_[A-Z]\w*")
OF_CPP = re.compile(
    r"__(?:restrict(?:__)?|func__|cplusplus|FUNCTION__|builtin_(?:expect|unreachable|prefetch|"
    r"assume_aligned)|(?:AVX|SSE|FMA|F16C|ARM|NEON|aarch64|x86_64)\w*)"
)
OF_CUDA = re.compile(
    r"__(?:global|device|host|shared|constant|forceinline|noinline)__|__launch_bounds__|__align__|"
    r"__restrict(?:__)?|__CUDA_ARCH__|__cplusplus|__syncthreads|__syncwarp|"
    r"__shfl(?:_up|_down|_xor)?_sync|__(?:ballot|any|all)_sync|__activemask|__threadfence|__popc|"
    r"__clz|__ffs|__umulhi|__uint_as_float|__float_as_uint|__ldg|__func__"
)
REFUSED_CPP = re.compile(
    r"_*asm_*|_Pragma|__pragma|__has_\w+|_*attribute_*|__declspec|_*(?:gnu|clang|Clang)_*|extern|"
    r"system|p?open|fopen|freopen|v?fork|exec[lv]\w*|posix_spawn\w*|dl(?:open|sym)|syscall|getenv|"
    r"tt_\w*|TT_\w*|glue|_?Py[A-Z_]\w*"
)
TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<number>\.?[0-9](?:[eEpP][+-]|'?[\w.])*)
    |(?P<raw>(?:L|u|U|u8)?R")
    |(?P<name>[A-Za-z_]\w*)
    |(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<space>\s+)
    |(?P<joined>%:|<:|\#\#)
    |(?P<unread>/\*.*|["'](?:\\.|[^\\\n])*|[^ !\#%-&(-?A-\[\]^_a-~])
    |(?P<other>.)""",
    re.X | re.S | re.A,
)
# what a preprocessor reads otherwise than a reader does; a kernel needs none of it
SMUGGLING = {
    r"\\[ \t\v\f]*\r?\n": "a line that goes on in the next",
    r"\?\?[=/'()!<>-]": "a trigraph",
    r"(?!\r\n)[\x00-\x08\x0b-\x1f\x7f]": "a control character",
}
NOT_CODE = {"raw": "a raw string", "joined": "`{}`", "unread": "{!r} that stands alone"}


def broken_cpp(text: str, imports: tuple[str, ...], reserved: re.Pattern[str] = OF_CPP) -> str:
    """The first rule that a file breaks, with its line; empty if it keeps them all. `reserved` are
    the names of the language's own that it may use.

    A task that lists a header of ours, such as cuda/cuda.h, allows the names of namespace tt.
    """
    found = next(filter(None, (re.search(pattern, text) for pattern in SMUGGLING)), None)
    if found:
        what = next(words for pattern, words in SMUGGLING.items() if re.match(pattern, found[0]))
        return f"line {line_of(text, found.start())}: {what} is not for a solution"
    allowed = tuple(dict.fromkeys((*imports, *HEADERS)))
    code = TOKEN.sub(without_comment, text)
    for count, line in enumerate(code.split("\n"), 1):
        directive = re.match(r"#[ \t]*(\w*)[ \t]*(.*)", line.strip())
        wrong = directive and broken_directive(directive[1], directive[2], allowed)
        if wrong:
            return f"line {count}: {wrong}"
    ours = any("/" in header for header in allowed)
    for token in TOKEN.finditer(text):
        kind, word = str(token.lastgroup), token[0]
        wrong = (
            NOT_CODE[kind].format(re.findall(r"/\*|%:|<:|##|.", word)[0])
            if kind in NOT_CODE
            else ""
        )
        unknown = RESERVED.fullmatch(word) and not reserved.fullmatch(word)
        inner = REFUSED_CPP.fullmatch(word) or (word == "tt" and not ours)
        if kind == "name" and (unknown or inner):
            wrong = f"`{word}`"
        if wrong:
            return f"line {line_of(text, token.start())}: {wrong} is not for a solution"
    return ""


# ---- what the compiler refuses -------------------------------------------------------------------

# Words that hide code from a sanitizer, or that are no C++: how attributes begin, and assembly.
POISONED = (
    "__attribute__", "__attribute", "gnu", "__gnu__", "clang", "_Clang", "__declspec",
    "asm", "__asm", "__asm__", "_Pragma",
)  # fmt: skip


BEGINNING = 'static_assert(true, "a solution begins");'


def ahead(headers: Iterable[str]) -> str:
    """What the compiler reads before a student's file: all that this may include, and then no such
    word, however a macro makes it; those of the headers' macros stay."""
    lines = [f"#include {x if x.startswith(chr(34)) else f'<{x}>'}" for x in headers]
    return "\n".join([*lines, f"#pragma GCC poison {' '.join(POISONED)}", BEGINNING, ""])


# The compiler's own functions can reach memory unseen, and are too many to poison: all but these,
# which the macros of headers call.
BUILTIN = re.compile(
    r"\b__builtin_(?!(?:expect|unreachable|prefetch|assume_aligned|offsetof|inff?|nanf?|huge_valf?)"
    r"\b)\w+"
)


LINES_OF = re.compile(r'^# \d+ "(.*)"', re.M)  # how a preprocessor names the file that it reads


def broken_text(preprocessed: str, files: Iterable[Path]) -> str:
    """What macros and includes have brought into a solution: a function of the compiler's own, or
    another file than `files` and those that were read ahead, a task's solution, say."""
    before, _, solution = preprocessed.partition(BEGINNING)
    found = BUILTIN.search(solution)
    if found:
        return f"`{found[0]}` is not for a solution"
    known = {*LINES_OF.findall(before), *map(str, files)}
    others = [file for file in LINES_OF.findall(solution) if file not in known]
    return f"reads {Path(others[0]).name}, which is not for a solution" if others else ""


# ---- what the compiler has made of a file --------------------------------------------------------

MATHEMATICS = (
    r"(?:a?(?:sin|cos|tan)h?|atan2|exp|exp2|expm1|exp10|log|log2|log10|log1p|pow|sqrt|cbrt|hypot|"
    r"erf|erfc|tgamma|lgamma|f?abs|fmod|fma|fmax|fmin|fdim|remainder|floor|ceil|trunc|l?l?round|"
    r"l?l?rint|nearbyint|ldexp|frexp|scalbn|copysign|sincos|modf|logb|ilogb|nextafter)f?"
)
COMPILERS = (
    r"mem(?:cpy|move|set)|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|_Unwind_Resume|"
    r"__gxx_personality_v0|_ZSt9terminatev"
)
# What a file whose accesses are counted (4_kernels/counts.cpp) may ask others for: their hooks,
# memory, and errors.
OF_COUNTED = re.compile(
    rf"__asan_(?:(?:load|store)(?:\d+|N)_noabort|handle_no_return)|{COMPILERS}|{MATHEMATICS}|"
    r"malloc|free|_Zn[aw]\w+|_Zd[al]P\w+|_ZSt\d+__throw_\w+|__cxa_\w+|__dso_handle|__tls_get_addr"
)
# What a kernel's object may: the emulator's interface, which cuda/host/cuda.h calls, and what the
# compiler puts in; copies are the glue's (homework/5_cuda/glue.h).
OF_EMULATED = re.compile(
    r"_ZN2tt8emulated(?:8position|14wait_for_block|8exchange|4lane|12fail_on_lane|12check_atomic|"
    r"14dynamic_shared|10copy_async|14commit_copies|15wait_for_copies|3mma|13load_matrices)\w*|"
    r"__tsan_(?:init|vptr_update|(?:unaligned_)?(?:read|write)(?:\d+|_range))|"
    rf"__ubsan_handle_out_of_bounds|printf|puts|putchar|{COMPILERS}|{MATHEMATICS}"
)
# In an object that runs by itself when it is loaded, or that the emulator cannot look into
LOADED = {
    # but for the sanitizer's own, .init_array.00099, which kernel.py drops
    r"^\s*\.section\s+\.(?:init_array(?!\.00099)|preinit_array|fini_array|[cd]tors|init|fini)\b":
        "code that runs when a library is loaded, as for a variable that a function sets",
    r"@gnu_indirect_function": "a function that is chosen when a library is loaded",
    r"^\s*(?:#APP|//APP|\.incbin|\.symver)\b": "assembly",
}  # fmt: skip


def broken_assembly(text: str) -> str:
    """What is not for a kernel in its assembly."""
    for pattern, what in LOADED.items():
        if re.search(pattern, text, re.M):
            return f"{what} is not for a kernel"
    return ""


def broken_symbols(symbols: str, asked: re.Pattern[str], mangled: bool) -> str:
    """What is not for an object's symbols, as `nm -P` tells them: others than `asked` are asked
    for, or one of these is defined. `mangled`: it defines functions of C++ only."""
    for name, kind in (line.split()[:2] for line in symbols.splitlines()):
        if kind in "Uvw":  # v, w: perhaps, where nobody has it
            if not asked.fullmatch(name):
                return f"undefined reference to `{name}`: a kernel calls what its language has"
        elif asked.fullmatch(name) or (mangled and kind in "TWi" and not name.startswith("_Z")):
            return f"`{name}` is not for a solution to define"
    return ""


def without_comment(token: re.Match[str]) -> str:
    """A token; a comment as the spaces and line ends that a preprocessor sees in its place."""
    return re.sub(r"[^\n]", " ", token[0]) if token.lastgroup == "comment" else token[0]


def line_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def broken_directive(name: str, rest: str, allowed: tuple[str, ...]) -> str:
    if name not in DIRECTIVES or (name == "pragma" and not re.match(PRAGMAS, rest)):
        return f"`#{name} {rest}`".replace(" `", "`") + " is not for a solution"
    if name == "include":
        header = re.fullmatch(r"<([\w./]+)>|\"([\w./]+)\"", rest)
        if not header or (header[1] or header[2]) not in allowed:
            return f"includes {rest}; a solution needs {', '.join(allowed)}"
    if name in ("define", "undef") and not re.match(r"[A-Z][A-Z0-9_]*\b", rest):
        return "a macro's name is in capitals, so that it changes nobody else's code"
    return ""
