"""What a solution's text may contain, in Python and C++: every way around the task has a line."""

from __future__ import annotations

import gc
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tiny_torch.tools.homework import rules
from tiny_torch.tools.homework.task import all_tasks
from tiny_torch.tools.homework.trial import check

GRAPH = ("tiny_torch.autograd.graph",)
PYTHON = {  # text: what is told
    "import os": "imports os",
    "import typing": "write `from typing import ...`",
    "import collections.abc": "write `from collections.abc import ...`",
    "import tiny_torch.autograd.graph": "write `from tiny_torch.autograd.graph import ...`",
    "from typing import sys": "imports sys from typing",
    "from typing import get_type_hints": "imports get_type_hints from typing, which is no type",
    "from typing import *": "imports * from typing",
    "from typing import __dict__": "`.__dict__` looks into the interpreter",
    "from math import __loader__": "`__loader__` is not for a solution",
    "from . import os": "imports .",
    "from operator import attrgetter": "imports operator",
    "x = __import__": "`__import__` is not for a solution",
    "match print:\n  case object(__globals__=g): pass": "`.__globals__` looks into the interpreter",
    "x = f().ag_frame": "`.ag_frame` looks into the interpreter",
}


@pytest.mark.parametrize("text", PYTHON)
def test_python_that_is_refused(text):
    told = rules.first_breach(f"\n{text}\n", GRAPH)
    assert told.startswith(f"line {3 if 'case' in text else 2}: {PYTHON[text]}")


def test_python_that_is_allowed():
    text = "import math\nfrom typing import Any\nfrom collections.abc import Sequence\n"
    text += "from tiny_torch.autograd.graph import Node\nx = math.pi.__class__\n"
    assert rules.first_breach(text, GRAPH) == ""
    assert rules.first_breach("import operator", ("operator",)) == ""
    assert "attrgetter" in rules.first_breach("import operator\noperator.attrgetter", ("operator",))


IMPORTS = ("algorithm", "cmath", "cstdint")
CPP = {  # text: what is told of its line 2
    "#include <vector>": "includes <vector>; a solution needs algorithm, cmath, cstdint, cstddef",
    '#include "/etc/passwd"': 'includes "/etc/passwd"; a solution needs',
    '#include "solution.cpp"': 'includes "solution.cpp"; a solution needs',
    "#include STUDENT": "includes STUDENT; a solution needs",
    "  #  include <vector>": "includes <vector>",
    "/* a */ #include <vector>": "includes <vector>",
    "#/* a */include <vector>": "includes <vector>",
    "#include/**/<vector>": "includes <vector>",
    "#include <cmath> <vector>": "includes <cmath> <vector>",
    "#include_next <vector>": "`#include_next <vector>` is not for a solution",
    "#import <vector>": "`#import <vector>` is not for a solution",
    '#embed "/etc/passwd"': '`#embed "/etc/passwd"` is not for a solution',
    "#line 7": "`#line 7` is not for a solution",
    "#pragma GCC poison run": "`#pragma GCC poison run` is not for a solution",
    "%:include <vector>": "`%:` is not for a solution",
    "??=include <vector>": "a trigraph is not for a solution",
    "#inc\\\nlude <vector>": "a line that goes on in the next is not for a solution",
    "// a comment \\ \n#include <vector>": "a line that goes on in the next is not for a solution",
    "#if __has_include(<vector>)\n#endif": "`__has_include` is not for a solution",
    '_Pragma("GCC poison run")': "`_Pragma` is not for a solution",
    'asm(".incbin \\"/etc/passwd\\"");': "`asm` is not for a solution",
    '__asm__("");': "`__asm__` is not for a solution",
    "#define A(x, y) x ## y": "`##` is not for a solution",
    "#define run other": "a macro's name is in capitals",
    "#undef run": "a macro's name is in capitals",
    "__attribute__((constructor)) void f() {}": "`__attribute__` is not for a solution",
    "[[gnu::constructor]] void f() {}": "`gnu` is not for a solution",
    "[[__gnu__::__constructor__]] void f() {}": "`__gnu__` is not for a solution",
    'extern "C" int PyRun_SimpleString(const char*);': "`extern` is not for a solution",
    "int x = PyRun_SimpleString(0);": "`PyRun_SimpleString` is not for a solution",
    'int x = std::system("true");': "`system` is not for a solution",
    "TT_REPLACED(Add, add)": "`TT_REPLACED` is not for a solution",
    "void f() { tt_replaced_add(iter); }": "`tt_replaced_add` is not for a solution",
    "void f() { __builtin_memcpy(x, y, n); }": "`__builtin_memcpy` is not for a solution",
    "int _Evil;": "`_Evil` is not for a solution",
    "namespace tt {}": "`tt` is not for a solution",
    "namespace glue {}": "`glue` is not for a solution",
    'const char* x = R"(\n)";': "a raw string is not for a solution",
    "// \r#include <vector>": "a control character is not for a solution",
    "int x = 1$'a'/*';": "'$' that stands alone is not for a solution",
}
UNREAD = {  # where a reader and the compiler might not see the same comment
    "#if 0\n\" /*\n#endif\n#include <vector> // */": "line 5: includes <vector>",
    "#if 0\ndon't /*\n#endif\n#include <vector> // */": "line 5: includes <vector>",
    "int x = 1'0/*'*/;\n#include <vector>": "line 3: includes <vector>",
    "char x = '/*';\n#include <vector> // */": "line 3: includes <vector>",
    'char x = \'"\', y = \'"\'; /*"*/\n#include <vector>': "line 3: includes <vector>",
    'char x = "a;': "line 2: '\"' that stands alone",
    "/* no end": "line 2: '/*' that stands alone",
    "int \u00e9 = 1;": "line 2: 'é' that stands alone",
    "int \\u0061sm;": "line 2: '\\\\' that stands alone",
}  # fmt: skip


@pytest.mark.parametrize("text", CPP)
def test_cpp_that_is_refused(text):
    assert rules.broken_cpp(f"\n{text}\n", IMPORTS).startswith(f"line 2: {CPP[text]}")


@pytest.mark.parametrize("text", UNREAD)
def test_cpp_that_can_be_read_in_two_ways(text):
    assert rules.broken_cpp(f"\n{text}\n", IMPORTS).startswith(UNREAD[text])


ALLOWED = """
#include <cmath>  // "a comment's quote \u00e9
#include <algorithm>
#define SQUARE(x) ((x) * (x))
#ifdef NDEBUG
#pragma omp simd
#endif
[[maybe_unused]] constexpr int64_t kMany = 1'000'000, kMask = 0x1Fu;
const char *text = "/* no comment, #include <vector>, asm", c = '"';
template <class T>
void f(T* x, int n) { /* asm("") */
  for (int i = 0; i < n; ++i) x[i] = std::exp(-SQUARE(x[i])) * 1.5e-3f % 7 ^ ~i;
}
"""


def test_cpp_that_is_allowed():
    assert rules.broken_cpp(ALLOWED, IMPORTS) == ""
    assert rules.broken_cpp(ALLOWED.replace("\n", "\r\n"), IMPORTS) == ""
    assert (
        rules.broken_cpp('#include "cuda/cuda.h"\nusing tt::cuda::launch;', ("cuda/cuda.h",)) == ""
    )


@pytest.mark.parametrize("number", all_tasks())
def test_our_own_files_keep_the_rules(number):
    task = all_tasks()[number]
    if task.language == "python":
        assert rules.first_breach(task.skeleton, task.imports) == ""
    else:
        for text in (task.skeleton, task.solution_text, *task.mutants().values()):
            reserved = rules.OF_CUDA if task.language == "cuda" else rules.OF_CPP
            assert rules.broken_cpp(text, task.imports, reserved) == ""


def test_a_kernel_that_breaks_a_rule_is_not_compiled():
    verdict = check(all_tasks()["4.1"], '#include "/etc/passwd"\n', 0)
    assert verdict.failure is not None and verdict.failure.kind == "rule"
    assert verdict.failure.text.startswith('line 1: includes "/etc/passwd"')


def test_a_file_that_fills_the_disk_is_not_compiled():
    text = "#include <cstdint>\nint64_t much[1 << 28] = {1};\n"
    verdict = check(all_tasks()["4.1"], text + all_tasks()["4.1"].solution(), 0)
    assert verdict.failure is not None and verdict.failure.kind == "compile"


@pytest.mark.skipif(shutil.which("g++") is None, reason="asks g++ what it reads")
@pytest.mark.parametrize("text", [text for text in UNREAD if "<vector>" in text])
def test_the_compiler_sees_the_include_too(text):
    """Else the reading above would be too careful, or of something else."""
    command = ["g++", "-std=c++17", "-E", "-x", "c++", "-"]
    done = subprocess.run(command, input=text.encode(), capture_output=True)
    assert b"bits/stl_vector.h" in done.stdout


def test_threads_may_read_solutions_at_the_same_time():
    def breach(depth):
        return breach(depth - 1) if depth else rules.first_breach("x = [1, [2, [3]]]\n" * 200, ())

    def switch(phase, info):  # a collection while a tree is built: another thread goes on
        time.sleep(0)

    gc.callbacks.append(switch)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(breach, [*range(0, 32, 4)] * 20)) == {""}
    finally:
        gc.callbacks.remove(switch)
