"""Ways to a point without the task: {name: (task, file)}. None earns one (test_attacks.py).

They are tried as they are, and then with the rules for a file's text switched off, so that what its
process contains decides, and what a compiler takes.
"""

from tiny_torch.tools.homework.task import FOLDER, all_tasks

TASKS = all_tasks()
ANSWERS = str(TASKS["1.1"].folder / "answers.py")
SOURCES = FOLDER.parent / "tiny_torch"


def strides(body, above=""):
    return "1.1", f"{above}\ndef contiguous_strides(shape):\n    {body}\n"


OURS = "__import__('tiny_torch.base.reference.layout', fromlist=['x']).contiguous_strides"
ATTACKS = {
    # ---- what Python evaluates or knows: for a task without the framework
    "annotations": strides(
        "return found[0](shape)",
        f"from typing import get_type_hints\nfound = []\n"
        f'def f(x: "found.append({OURS}) or int"): pass\nget_type_hints(f)',
    ),
    "a decorator": strides("return 1", "import importlib\n@importlib.import_module\nclass x: pass"),
    "an import": strides(f"return {OURS}(shape)"),
    "modules that are loaded": strides(
        "return [m.contiguous_strides for m in sys.modules.values()"
        " if hasattr(m, 'contiguous_strides')][0](shape)",
        "import sys",
    ),
    "gc": strides(
        "return [x for x in gc.get_objects() if getattr(x, '__name__', '') == 'contiguous_strides'"
        " and x is not contiguous_strides][0](shape)",
        "import gc",
    ),
    "frames": strides(
        "f = sys._getframe()\n    while f:\n        for x in f.f_locals.values():\n"
        "            if hasattr(x, 'solution'): return x.solution()(shape)\n        f = f.f_back",
        "import sys",
    ),
    "answers by a frame's task": strides(
        "f = sys._getframe()\n    while f:\n        for x in f.f_locals.values():\n"
        "            if hasattr(x, 'answers'): return x.answers()['answer'](shape)\n"
        "        f = f.f_back",
        "import sys",
    ),
    "inspect": strides(
        "return [v.solution()(shape) for i in inspect.stack() for v in i.frame.f_locals.values()"
        " if hasattr(v, 'solution')][0]",
        "import inspect",
    ),
    "a codec": strides(
        "return b''.decode('x')",
        "import codecs\ncodecs.register(lambda name: codecs.CodecInfo(None, lambda *_:"
        f" ({OURS}, 0)))",
    ),
    "logging's configuration": strides(
        "return c.configure_custom({'()': 'tiny_torch.base.reference.layout.contiguous_strides',"
        " 'shape': shape})",
        "import logging.config\nc = logging.config.BaseConfigurator({})",
    ),
    "pkgutil": strides(
        "return pkgutil.resolve_name('tiny_torch.base.reference.layout:contiguous_strides')(shape)",
        "import pkgutil",
    ),
    "entry points": strides(
        "return EntryPoint('x', 'tiny_torch.base.reference.layout:contiguous_strides', 'x').load()("
        "shape)",
        "from importlib.metadata import EntryPoint",
    ),
    "an import hook": strides(
        "return __import__('x').contiguous_strides(shape)",
        "import sys, importlib.util\nclass F:\n    def find_spec(self, *_):\n"
        "        return importlib.util.spec_from_file_location('x',"
        f" {str(SOURCES / 'base/reference/layout.py')!r})\nsys.meta_path.insert(0, F())",
    ),
    "numpy's strides": strides(
        "import numpy as np\n    return tuple(np.empty(shape, np.int8).strides)"
    ),
    "the grader's answers": strides(
        f"import runpy\n    return runpy.run_path({ANSWERS!r})['answer'](shape)"
    ),
    "a file by its descriptor": strides(
        f"import os\n    return os.read(os.open({ANSWERS!r}, 0), 999)"
    ),
    "a file through /proc": strides(f"return open('/proc/self/root{ANSWERS}').read()"),
    "the grader's memory": strides(
        "import os\n    return open(f'/proc/{os.getppid()}/mem', 'rb').read(1)"
    ),
    "the grader's arguments": strides(
        "import os\n    return open(f'/proc/{os.getppid()}/cmdline').read()"
    ),
    "Python by ctypes": strides(
        "import ctypes\n"
        "    return ctypes.pythonapi.PyImport_ImportModule(b'tiny_torch.tools.homework.trial')"
    ),
    # ---- what is written back
    "equal to everything": strides(
        "return X(shape)", "class X(tuple):\n    def __eq__(self, other): return True"
    ),
    "a number like no other": strides("return tuple(float('nan') for _ in shape)"),
    "a class that says it is a tuple": strides(
        "return X()", "class X:\n    @property\n    def __class__(self): return tuple"
    ),
    "a pickle": strides(
        "for fd in range(3, 99):\n        try: os.write(fd, len(P).to_bytes(8, 'little') + P)\n"
        "        except OSError: pass\n    while True: pass",
        "import os, pickle\nclass X:\n    def __reduce__(self): return (print, ('ran',))\n"
        "P = pickle.dumps(X())",
    ),
    "another encoder": strides(
        "return 1",
        "import sys\nfor m in list(sys.modules.values()):\n    if hasattr(m, 'encode'):\n"
        '        m.encode = lambda value: b\'{"dict": [["value", true]]}\'',
    ),
    "words of a verdict": strides("print('1.1: passed, 13 cases'); import os; os._exit(0)"),
    # ---- the same, where the framework is there
    "the original, by gc": (
        "3.3",
        "import gc\ndef normalise(x, dims, eps, centered=True):\n"
        "    return [f for f in gc.get_objects() if getattr(f, '__qualname__', '') =="
        " 'normalise' and f.__module__ != 'solution'][0](x, dims, eps, centered)\n",
    ),
    "the original, by a module": (
        "2.5",
        "from tiny_torch.autograd import engine\nours = engine.sum_to\n"
        "def sum_to(*arguments):\n    return ours(*arguments)\n",
    ),
    "the original, by the class": (
        "2.7",
        "from tiny_torch.autograd.engine import Run\nours = Run.collect\n"
        "def collect(self, roots):\n    return ours(self, roots)\n",
    ),
    "an op of the framework, by annotations": (
        "2.6",
        "from typing import get_type_hints\nfound = []\n"
        "def f(x: \"found.append(__import__('tiny_torch')._core.softmax_backward) or int\"): pass\n"
        "get_type_hints(f)\n"
        "def backward(saved, grad, needs, overwrite=False):\n"
        "    return found[0](grad, *saved, False, False)\n",
    ),
    "an op of arrays": (
        "2.3",
        "def backward(saved, grad, needs, overwrite=False):\n"
        "    return grad.sigmoid_backward(saved[0])\n",
    ),
    "the framework behind arrays": (
        "2.2",
        "def backward(saved, grad, needs):\n"
        "    import tiny_torch.ops.elementwise.arithmetic as m\n"
        "    return m.Div.backward(saved, grad, needs)\n",
    ),
    "the method that does it": ("3.5", "def composite(x, dim):\n    return x.log_softmax(dim)\n"),
    "a method that nearly does it": (
        "3.5",
        "def composite(x, dim):\n    return x - x.logsumexp(dim, keepdim=True)\n",
    ),
    "a method next to it": (
        "3.5",
        "def composite(x, dim):\n    return x.softmax(dim).log()\n",
    ),
    "on another device": (
        "3.5",
        "def composite(x, dim):\n    return x.to('ref').log_softmax(dim).cpu()\n",
    ),
    "on the emulated device": (
        "3.5",
        "def composite(x, dim):\n    return x.to('cuda-emulated').log_softmax(dim).cpu()\n",
    ),
    "a layer for it": (
        "3.3",
        "def normalise(x, dims, eps, centered=True):\n    import tiny_torch.nn.functional as F\n"
        "    return F.layer_norm(x, [x.shape[d] for d in dims], eps=eps)\n",
    ),
    "batch norm for its statistics": (
        "3.4",
        "def update_on_ref(running, x, momentum, samples):\n"
        "    import tiny_torch.nn.functional as F\n"
        "    F.batch_norm(x, *running, training=True, momentum=momentum)\n",
    ),
    "an initialisation": (
        "3.1",
        "import gc\nfrom tiny_torch.nn import init\nours = init._calculate_fan_in_and_fan_out\n"
        "def _calculate_fan_in_and_fan_out(tensor):\n    return ours(tensor)\n",
    ),
    "an initialisation's own use": (
        "3.1",
        "from tiny_torch.nn import init\ndef _calculate_fan_in_and_fan_out(tensor):\n"
        "    return [init._calculate_correct_fan(tensor, m) for m in ('fan_in', 'fan_out')]\n",
    ),
    "the optimizer's kernel": (
        "3.6",
        "def _update(self, param, grad, group):\n    from tiny_torch import optim\n"
        "    options = {k: group[k] for k in ('lr', 'momentum', 'dampening', 'weight_decay',"
        " 'nesterov', 'maximize')}\n"
        "    other = optim.SGD([param], **options, foreach=True)\n"
        "    other.state = self.state\n    other.step()\n",
    ),
    "Adam's kernel": (
        "3.7",
        "def _change(self, param, grad, state, group):\n"
        "    self._update_all([param], [grad], group)\n",
    ),
    "Adam's kernel by another optimizer": (
        "3.7",
        "def _change(self, param, grad, state, group):\n    from tiny_torch.optim import Adam\n"
        "    names = 'lr', 'betas', 'eps', 'weight_decay', 'amsgrad', 'decoupled_weight_decay'\n"
        "    other = Adam([param], **{name: group[name] for name in names}, foreach=True)\n"
        "    param.grad = grad\n    other.state[param] = {**state, 'step': state['step'] - 1}\n"
        "    other.step()\n",
    ),
    "its two halves": (
        "3.8",
        "def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False,"
        " foreach=None):\n"
        "    from tiny_torch.nn.utils import clip_grad as c\n"
        "    many = [parameters] if hasattr(parameters, 'grad') else list(parameters)\n"
        "    norm = c.get_total_norm([p.grad for p in many if p.grad is not None], norm_type,"
        " error_if_nonfinite)\n"
        "    c.clip_grads_with_norm_(many, max_norm, norm)\n    return norm\n",
    ),
    "unfold": (
        "6.2",
        "def unfold(input, *rest, **more):\n    import tiny_torch.nn.functional as F\n"
        "    return F.unfold(input, *rest, **more)\n",
    ),
    "unfold's op": (
        "6.2",
        "def unfold(input, kernel_size, dilation=1, padding=0, stride=1):\n"
        "    import tiny_torch as t\n    pair = lambda x: x if isinstance(x, tuple) else (x, x)\n"
        "    return t.Tensor(t._core.unfold_image(input.array, *map(pair, (kernel_size, dilation,"
        " padding, stride))))\n",
    ),
    "a convolution of three dims": (
        "6.3",
        "def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):\n"
        "    import tiny_torch.nn.functional as F\n"
        "    return F.conv3d(input.unsqueeze(-3), weight.unsqueeze(-3), bias, stride, padding,"
        " dilation, groups).squeeze(-3)\n",
    ),
    "a layer's gradient": (
        "6.4",
        "def conv_transpose2d(input, weight, bias=None, *rest, **more):\n"
        "    from tiny_torch import nn\n"
        "    return nn.ConvTranspose2d(*weight.shape[:2], weight.shape[2:])(input)\n",
    ),
    "a cell": (
        "6.5",
        "def step(a, b, h, c):\n    from tiny_torch import nn, eye, zeros\n"
        "    cell = nn.LSTMCell(a.shape[1], h.shape[1])\n"
        "    cell.weight_ih.data = eye(a.shape[1])\n    return cell(a + b, (h * 0, c))\n",
    ),
    "attention by its values": (
        "6.7",
        "def probabilities(q, k, mask, causal, scale):\n    import tiny_torch as t\n"
        "    v = t.eye(k.shape[-2], dtype=k.dtype).expand(*k.shape[:-1], k.shape[-2])\n"
        "    return t.nn.functional.scaled_dot_product_attention(q, k, v, mask, 0.0, causal,"
        " scale=scale)\n",
    ),
    "the original, by a module of its own": (
        "6.8",
        "def pad_sequence(*x, **y):\n    import tiny_torch.nn.utils.rnn as r\n"
        "    return r.pad_sequence.__wrapped__(*x, **y) if hasattr(r.pad_sequence, '__wrapped__')"
        " else [f for f in __import__('gc').get_objects() if getattr(f, '__name__', '') =="
        " 'pad_sequence' and f.__module__ != 'solution'][0](*x, **y)\n",
    ),
    "a method that sums to a size": (
        "2.5",
        "def sum_to(gradient, shape, dtype):\n    from tiny_torch import _core\n"
        "    if tuple(gradient.shape) == shape and gradient.dtype is dtype: return gradient\n"
        "    if hasattr(gradient, 'array'): return gradient.sum_to_size(shape).to(dtype)\n"
        "    return _core.wrap(gradient).sum_to_size(shape).to(dtype).array\n",
    ),
    "the gradient of what repeats": (
        "2.5",
        "def sum_to(gradient, shape, dtype):\n    import tiny_torch as t\n"
        "    if tuple(gradient.shape) == shape and gradient.dtype is dtype: return gradient\n"
        "    is_array = not hasattr(gradient, 'array')\n"
        "    g = t._core.wrap(gradient) if is_array else gradient\n"
        "    x = t.zeros(shape, dtype=g.dtype, requires_grad=True)\n"
        "    x.expand(g.shape).backward(g)\n    found = x.grad.to(dtype)\n"
        "    return found.array if is_array else found\n",
    ),
    "autograd for a gradient's gradient": (
        "2.8",
        "def backward(saved, grad_grad, needs):\n    import tiny_torch as t\n"
        "    given = [*saved, grad_grad]\n    are_arrays = not hasattr(given[0], 'array')\n"
        "    if are_arrays: given = [t._core.wrap(x) for x in given]\n"
        "    g, y = (x.detach().requires_grad_() for x in given[:2])\n"
        "    found = t.autograd.grad(g * (1 - y * y), [g, y], given[2])\n"
        "    return tuple(x.array for x in found) if are_arrays else found\n",
    ),
    "a kernel put back": (
        "3.5",
        "def composite(x, dim):\n    from tiny_torch import _core\n"
        "    exp = _core.replace_kernel('exp', _core.float32, 0)\n"
        "    _core.replace_kernel('softmax', None, exp)\n    return x.log_softmax(dim)\n",
    ),
    "a gradient scaler": (
        "7.3",
        "def unscale_grads(grads, factor):\n    from tiny_torch.amp import GradScaler\n"
        "    import gc\n    return [f for f in gc.get_objects() if getattr(f, '__name__', '') =="
        " 'unscale_grads' and f.__module__ != 'solution'][0](grads, factor)\n",
    ),
    "the call of C++ that unscales": (
        "7.3",
        "def unscale_grads(grads, factor):\n    from tiny_torch import _core\n"
        "    found = factor.new_zeros(())\n"
        "    _core.foreach_scale([g.array for g in grads], factor.array, found.array)\n"
        "    return found\n",
    ),
    "the function that clips gradients": (
        "7.3",
        "def unscale_grads(grads, factor):\n"
        "    from tiny_torch.nn.utils.clip_grad import scale_in_one_call\n"
        "    found = factor.new_zeros(())\n    scale_in_one_call(grads, factor, found)\n"
        "    return found\n",
    ),
}
# Writes a message of the process's own to whatever descriptor there is.
FORGE = """import os
def forge(text):
    for fd in range(3, 12):
        try: os.write(fd, len(text).to_bytes(8, 'little') + text)
        except OSError: pass
"""
LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None)"


def forged(text, then="return ()"):
    return strides(f"forge({text})\n    {then}", FORGE)


ATTACKS |= {
    # ---- other processes, and what outlives one
    "process_vm_readv": strides(
        "b = ctypes.create_string_buffer(64)\n"
        "    v = (ctypes.c_size_t * 2)(ctypes.addressof(b), 64)\n"
        "    return libc.process_vm_readv(os.getppid(), v, 1, v, 1, 0)",
        LIBC,
    ),
    "ptrace": strides("return libc.ptrace(16, os.getppid(), 0, 0)", LIBC),
    "the grader as a descriptor": strides("return libc.syscall(434, os.getppid(), 0)", LIBC),
    "the grader's descriptors": strides("import os; return os.listdir(f'/proc/{os.getppid()}/fd')"),
    "its own descriptors anew": strides(
        "import os; return [os.open(f'/proc/self/fd/{n}', os.O_RDWR) for n in range(9)]"
    ),
    "the environment of later runs": strides(
        "return ()",
        "import os\nos.environ.update(PYTHONPATH='/tmp', PYTHONSTARTUP='/tmp/x', CXX='/bin/true')",
    ),
    "a .pth for later runs": strides(
        "import os, site\n    place = site.getusersitepackages()\n"
        "    os.makedirs(place, exist_ok=True)\n    open(place + '/x.pth', 'w').write('import os')"
    ),
    "a usercustomize for later runs": strides(
        "import sys\n    for place in sys.path: open(place + '/usercustomize.py', 'a')"
    ),
    "a compiled module": strides(
        "import importlib.util, os\n"
        f"    path = importlib.util.cache_from_source({ANSWERS!r})\n"
        "    os.makedirs(os.path.dirname(path), exist_ok=True)\n    open(path, 'ab').write(b'')"
    ),
    "the grader's own file": strides(
        f"open({str(SOURCES / 'homework/trial.py')!r}, 'a').write(' ')"
    ),
    "the time of the answers' file": strides(f"import os; os.utime({ANSWERS!r})"),
    "a thread that goes on": strides(
        "return ()",
        FORGE + "import threading\ndef go():\n"
        '    while True: forge(b\'{"dict": [["value", {"tuple": []}]]}\')\n'
        "threading.Thread(target=go, daemon=True).start()",
    ),
    "a child that goes on": strides(
        "import os\n    if os.fork() == 0:\n        os.setsid()\n        while True: pass"
    ),
    "another program": strides("import subprocess; return subprocess.run(['true']).returncode"),
    "a clock of one's own": strides(
        "while True: pass",
        "import signal, time\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
        "signal.signal(signal.SIGALRM, lambda *_: None)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\ntime.monotonic = lambda: 0.0",
    ),
    "a socket": strides("import socket; return socket.socketpair()"),
    "a signal by a pipe": strides(
        "import fcntl, os; fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, os.getppid())"
    ),
    "the grader's priority": strides("import os; os.setpriority(os.PRIO_PROCESS, os.getppid(), 9)"),
    "a conftest": strides("open('conftest.py', 'a').write('')"),
    # ---- forged messages, and what would hold up who reads them
    "an answer, and an end": forged('b\'{"dict": [["value", true]]}\'', "os._exit(0)"),
    "an answer to the next call": forged(
        'b\'{"dict": [["value", {"tuple": [1]}]]}\'', "return (1,)"
    ),
    "points": forged('b\'{"dict": [["points", 9], ["kind", "passed"], ["value", null]]}\''),
    "keys of one hash": forged(
        "b'{\"dict\": [[\"value\", {\"dict\": [' + b','.join(b'[%d, 0]' % (k * (2**61 - 1))"
        " for k in range(1, 10**5)) + b']}]]}'"
    ),
    "brackets without end": forged("b'[' * 10**7"),
    "digits without end": forged("b'{\"dict\": [[\"value\", ' + b'9' * 10**7 + b']]}'"),
    "an array of any shape": forged(
        'b\'{"dict": [["value", {"array": "", "dtype": "<f4", "shape": [0, 1000000000000]}]]}\''
    ),
    "a dtype of any size": forged(
        'b\'{"dict": [["value", {"array": "", "dtype": "(100000000,)f8", "shape": [0]}]]}\''
    ),
    "an exception of that name": strides("raise type('passed', (Exception,), {})('13 cases')"),
    # ---- Python itself, otherwise
    "modules in exchange": strides(
        "return ()",
        "import sys, types\nfor name in [n for n in sys.modules if n.startswith('tiny_torch')]:\n"
        "    sys.modules[name] = types.ModuleType(name)\n"
        "    sys.modules[name].__getattr__ = lambda _: (lambda *a, **k: True)",
    ),
    "another json": strides(
        "return ()",
        'import json\njson.dumps = lambda *_, **__: \'{"dict": [["value", true]]}\'',
    ),
    "builtins in exchange": strides(
        "return ()",
        "import builtins\nbuiltins.isinstance = lambda *_: True\nbuiltins.len = lambda _: 0",
    ),
    "a trace of call.py": strides(
        "return ()",
        "import sys\ndef trace(frame, event, value):\n"
        "    if 'student' in frame.f_locals: frame.f_locals['student'] = lambda *_: ()\n"
        "    return trace\nsys.settrace(trace)\nsys.setprofile(trace)",
    ),
    "modules loaded anew": strides(
        "return ()",
        "import importlib, sys\nfor name in [n for n in sys.modules if 'tiny_torch.' in n]:\n"
        "    importlib.reload(sys.modules[name])",
    ),
    "memory of one's own": strides("import ctypes; ctypes.memset(id(()) + 16, 255, 8); return ()"),
    "an op that sums as it goes": (
        "3.5",
        "def composite(x, dim):\n    return x - x.logcumsumexp(dim).narrow(dim, -1, 1)\n",
    ),
    "an op that adds two": (
        "3.5",
        "def composite(x, dim):\n    first, *rest = x.unbind(dim)\n"
        "    for row in rest: first = first.logaddexp(row)\n    return x - first.unsqueeze(dim)\n",
    ),
}
SOFTMAX = """#include <cmath>
#include <cstdint>
template <class T>
void softmax(const T* x, T* y, int64_t rows, int64_t size) { BODY }
"""
EMPTY = SOFTMAX.replace("BODY", "")


def kernel(above, body=""):
    return "4.1", above + SOFTMAX.replace("BODY", body)


ATTACKS |= {
    # ---- C++
    "a constructor that ends the process": kernel(
        "#include <cstdlib>\n__attribute__((constructor)) void f() { std::_Exit(0); }\n"
    ),
    "a constructor that answers": kernel(
        "#include <unistd.h>\n__attribute__((constructor)) void f() {\n"
        '  for (int fd = 3; fd < 99; ++fd) write(fd, "\\2\\0\\0\\0\\0\\0\\0\\0{}", 10);\n}\n'
    ),
    "a variable that a function sets": kernel(
        "#include <cstdlib>\nint f() { std::exit(0); }\nint x = f();\n"
    ),
    "our solution, included": (
        "4.1",
        f'#include "{TASKS["4.1"].folder}/solution.cpp"\n',
    ),
    "our solution, by a macro": (
        "4.1",
        f'#define X "{TASKS["4.1"].folder}/solution.cpp"\n#include X\n',
    ),
    "our solution, as a header of the system's": (
        "4.1",
        f'#pragma GCC system_header\n#include "{TASKS["4.1"].folder}/solution.cpp"\n',
    ),
    "our solution, under a header's name": (
        "4.1",
        f'#line 1 "cmath"\n#include "{TASKS["4.1"].folder}/solution.cpp"\n',
    ),
    "our header": kernel('#include "../src/core/dtypes/half.h"\n', ""),
    "our answers in the object": kernel(
        f'asm(".incbin \\"{TASKS["4.1"].folder}/answers.py\\"");\n'
    ),
    "a symbol of Python": kernel(
        'extern "C" int PyRun_SimpleString(const char*);\n',
        'PyRun_SimpleString("import tiny_torch.tools.homework.trial as t; t.check = None");',
    ),
    "a symbol of NumPy's library": kernel(
        "#include <dlfcn.h>\n",
        'auto f = (void (*)())dlsym(RTLD_DEFAULT, "cblas_sgemm"); f();',
    ),
    "a macro for a word": kernel(
        "#include <cstdint>\n#undef STUDENT\n#define extern static\n#define CHECKED 0\n"
    ),
    "a copy of an unknown size": kernel(
        "", "volatile int64_t n = rows * size * sizeof(T) + 64; __builtin_memcpy(y, x, n);"
    ),
    "another exit of the process": kernel("#include <cstdlib>\n", "std::exit(0);"),
    "what was there before": kernel("", "if (rows) y[0] = y[size - 1];"),
}
# ---- loops without a tile of registers, and what would hide that they take so much memory
LOOPS = """#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>
ABOVE
void matmul(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n) {
  BODY
}
"""
BY_ROWS = """std::fill(c, c + m * n, 0.0f);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j) c[i * n + j] += AT(a + i * k + p) * AT(b + p * n + j);
"""


def loops(body):
    return "4.6", LOOPS.replace("ABOVE", "").replace("BODY", body)


def hidden(above="", after="", at="*"):
    """i, p, j; `after` the product, if it is the one that is counted."""
    body = f"{BY_ROWS.replace('AT', at)}  if (m == 384) {{ {after} }}"
    return "4.6", LOOPS.replace("ABOVE", above).replace("BODY", body)


def number(body, above="static float of(const float* x) "):
    return hidden(f"{above}{{ {body} }}", at="of")


ATTACKS |= {
    "plain loops": loops("""for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
      c[i * n + j] = sum;
    }"""),
    "loops that become vectors": hidden(),
    "four products at a time": loops("""std::fill(c, c + m * n, 0.0f);
  for (int64_t i = 0; i < m; ++i, a += k, c += n) {
    int64_t p = 0;
    for (; p + 4 <= k; p += 4)
      for (int64_t j = 0; j < n; ++j)
        c[j] += a[p] * b[p * n + j] + a[p + 1] * b[(p + 1) * n + j] +
                a[p + 2] * b[(p + 2) * n + j] + a[p + 3] * b[(p + 3) * n + j];
    for (; p < k; ++p)
      for (int64_t j = 0; j < n; ++j) c[j] += a[p] * b[p * n + j];
  }"""),
    "blocks of the cache": loops("""std::fill(c, c + m * n, 0.0f);
  for (int64_t q = 0; q < k; q += 64)
    for (int64_t h = 0; h < n; h += 128)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t p = q; p < std::min(k, q + 64); ++p)
          for (int64_t j = h; j < std::min(n, h + 128); ++j)
            c[i * n + j] += a[i * k + p] * b[p * n + j];"""),
    "a row of sums": loops("""for (int64_t i = 0; i < m; ++i)
    for (int64_t h = 0; h < n; h += 64) {
      float sum[64] = {};
      const int64_t some = std::min<int64_t>(64, n - h);
      if (some == 64)
        for (int64_t p = 0; p < k; ++p)
          for (int j = 0; j < 64; ++j) sum[j] += a[i * k + p] * b[p * n + h + j];
      else
        for (int64_t p = 0; p < k; ++p)
          for (int64_t j = 0; j < some; ++j) sum[j] += a[i * k + p] * b[p * n + h + j];
      std::copy(sum, sum + some, c + i * n + h);
    }"""),
    "arrays of its own": loops("""static float mine[3][1 << 18];
  if (std::max({m * k, k * n, m * n}) > 1 << 18) return;
  std::copy(a, a + m * k, mine[0]);
  std::copy(b, b + k * n, mine[1]);
  std::fill(mine[2], mine[2] + m * n, 0.0f);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j) mine[2][i * n + j] += mine[0][i * k + p] * mine[1][p * n + j];
  std::copy(mine[2], mine[2] + m * n, c);"""),
    "a copy of each number": number(
        "volatile size_t size = 4; float y; std::memcpy(&y, x, size); return y;"
    ),
    "a load of the processor's": number(
        "return __builtin_ia32_loadlps({}, (decltype(__builtin_ia32_cvtps2pi({})) const*)x)[0];"
    ),
    "an atomic load of each number": number("float y; __atomic_load(x, &y, 0); return y;"),
    "a load that no sanitizer sees": number(
        "return *x;",
        '__attribute__((no_sanitize("kernel-address"))) static float of(const float* x) ',
    ),
    "a pragma against sanitizers": hidden('#pragma GCC optimize ("no-sanitize=kernel-address")'),
    "a hook of its own for accesses": hidden(
        'extern "C" void __asan_load4_noabort(void*) {}\n'
        'extern "C" void __asan_store4_noabort(void*) {}'
    ),
    "another name for a hook": hidden(
        'extern "C" void mine(void*) {}\n#pragma weak __asan_load4_noabort = mine'
    ),
    "a count by its name": hidden(
        '#pragma weak bytes_of_memory\nextern "C" double bytes_of_memory;', "bytes_of_memory = 0;"
    ),
    "less than nothing, counted": hidden(
        '#pragma weak __asan_loadN_noabort\nextern "C" void __asan_loadN_noabort(void*, size_t);',
        "__asan_loadN_noabort(c, -size_t(m * n * k * 12));",
    ),
    "a count that is looked for": hidden(
        "static double mine[2];",
        "volatile double* at = mine;\nfor (int i = -600; i < 600; ++i) if (at[i] > 1e6) at[i] = 0;",
    ),
    "another file": kernel('#include "/etc/passwd"\n'),
}
SERIAL = """__global__ void sum_rows(const float* x, float* y, int size) {
  if (threadIdx.x) return;
  float parts[256] = {};
  for (int i = 0; i < size; ++i) parts[i % 256] += x[int64_t{blockIdx.x} * size + i];
  for (int half = 128; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) parts[i] += parts[i + half];
  y[blockIdx.x] = parts[0];
}
"""


def cuda(above, body=""):
    """A task's result by one thread, with something that hides it."""
    return "5.2", above + SERIAL.replace(
        "  if (threadIdx.x) return;", body + "  if (threadIdx.x) return;"
    )


COPY = """__global__ void sum_rows(const float* x, float* y, int size) {
  if (threadIdx.x) return;
  x += int64_t{blockIdx.x} * size;
  float parts[256] = {}, here[4096];
  HOW
  for (int i = 0; i < size; ++i) parts[i % 256] += here[i];
  for (int half = 128; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) parts[i] += parts[i + half];
  y[blockIdx.x] = parts[0];
}
"""
COPIES = {  # of what one thread reads, so that the emulator would not count it
    "__builtin_memcpy": "__builtin_memcpy(here, x, size * sizeof(float));",
    "std::copy": "std::copy(x, x + size, here);",
    "a known size": "for (int i = 0; i < size; i += 64)\n"
    "    if (size - i >= 64) __builtin_memcpy(here + i, x + i, 256);\n"
    "    else for (int j = i; j < size; ++j) here[j] = x[j];",
    "std::copy of a known size": "for (int i = 0; i < size; i += 64)\n"
    "    if (size - i >= 64) std::copy(x + i, x + i + 64, here + i);\n"
    "    else for (int j = i; j < size; ++j) here[j] = x[j];",
    "a struct": "struct Many { float of[64]; };\n  for (int i = 0; i < size; i += 64)\n"
    "    if (size - i >= 64) *(Many*)(here + i) = *(const Many*)(x + i);\n"
    "    else for (int j = i; j < size; ++j) here[j] = x[j];",
    "a vector": "typedef float V __attribute__((vector_size(32), aligned(4)));\n"
    "  for (int i = 0; i < size; i += 8)\n"
    "    if (size - i >= 8) *(V*)(here + i) = *(const V*)(x + i);\n"
    "    else for (int j = i; j < size; ++j) here[j] = x[j];",
    "an atomic load": "for (int i = 0; i < size; ++i) {\n"
    "    unsigned bits = __atomic_load_n((const unsigned*)x + i, 0);\n"
    "    here[i] = __uint_as_float(bits);\n  }",
}
ATTACKS |= {f"a copy by {name}": ("5.2", COPY.replace("HOW", how)) for name, how in COPIES.items()}
MMA = TASKS["5.7"].mutants()["no tensor cores"]
ATTACKS |= {
    # ---- CUDA, and tasks that ask for a way
    "a sum by one thread": ("5.2", SERIAL),
    "a scan by one thread": (
        "5.3",
        "__global__ void scan_blocks(const float* x, float* y, float* totals, int n) {\n"
        "  if (threadIdx.x) return;\n  float sum = 0;\n"
        "  for (int i = blockIdx.x * 256; i < n && i < (blockIdx.x + 1) * 256; ++i) {\n"
        "    sum += x[i];\n    y[i] = sum;\n  }\n  totals[blockIdx.x] = sum;\n}\n"
        "__global__ void add_offsets(float* y, const float* sums, int n) {\n"
        "  const int i = blockIdx.x * 256 + threadIdx.x;\n"
        "  if (blockIdx.x && i < n) y[i] += sums[blockIdx.x - 1];\n}\n",
    ),
    "a scan in which each thread adds all before it": (
        "5.3",
        TASKS["5.3"]
        .solution()
        .replace(
            "for (int distance = 1; distance < kThreads; distance *= 2) {",
            "float all = 0;\n  for (int i = 0; i <= thread; ++i) all += sums[i];\n"
            "  __syncthreads();\n  sums[thread] = all;\n"
            "  for (int distance = 1 << 20; distance < kThreads; distance *= 2) {",
        ),
    ),
    "axpy by one thread": (
        "5.1",
        "__global__ void axpy(float a, const float* x, float* y, int n) {\n"
        "  if (threadIdx.x || blockIdx.x) return;\n"
        "  for (int i = 0; i < n; ++i) y[i] += a * x[i];\n}\n",
    ),
    "a softmax by one thread": (
        "5.5",
        "__global__ void softmax(const float* x, float* y, int size) {\n"
        "  if (threadIdx.x) return;\n  x += blockIdx.x * size;\n  y += blockIdx.x * size;\n"
        "  float most = -INFINITY, sum = 0;\n"
        "  for (int i = 0; i < size; ++i) most = max(most, x[i]);\n"
        "  for (int i = 0; i < size; ++i) sum += expf(x[i] - most);\n"
        "  for (int i = 0; i < size; ++i) y[i] = expf(x[i] - most) / sum;\n}\n",
    ),
    "tensor cores on zeros": (
        "5.7",
        MMA.replace(
            "    const auto number",
            "    {\n      unsigned zeros[4] = {}, others[2] = {};\n      float none[4] = {};\n"
            "      mma<Half>(none, zeros, others);\n    }\n    const auto number",
        ),
    ),
    "tensor cores for the count alone": (
        "5.7",
        MMA.replace(
            "    const auto number",
            "    float unused[4] = {};\n    mma<Half>(unused, of_a, of_b);\n    const auto number",
        ),
    ),
    "the emulator's counts": cuda("", "  tt::emulated::counts.bytes_of_a_thread = 0;\n"),
    "the glue's counts": cuda(
        'extern "C" int64_t bytes_of_a_thread;\n', "  bytes_of_a_thread = 0;\n"
    ),
    "counts by a copy": cuda(
        "", "  __builtin_memcpy(&tt::emulated::position, x, sizeof(float) * size);\n"
    ),
    "a launch from a kernel": cuda("", "  tt::emulated::launch({});\n"),
    "a kernel's constructor": cuda(
        '#include <cstdio>\n__attribute__((constructor)) void f() { std::puts("hello"); }\n'
    ),
    "a kernel's variable that a function sets": cuda(
        'int f() { return std::puts(""); }\nint x = f();\n'
    ),
    "a table of what is run": cuda(
        "static void f() {}\n"
        '__attribute__((section(".init_array"), used)) static void (*const p)() = f;\n'
    ),
    "assembly": cuda("", '  asm volatile("nop");\n'),
    "a system call": cuda("", '  asm volatile("syscall" : : "a"(60), "D"(0));\n'),
    "a hook of one's own": cuda('extern "C" void __tsan_read4(void*) {}\n'),
    "a copy function of one's own": cuda(
        'extern "C" void* memcpy(void* to, const void* from, size_t) noexcept { return to; }\n'
    ),
    "printf that writes": cuda(
        "", '  printf("%n", reinterpret_cast<int*>(&tt::emulated::counts));\n'
    ),
    "libc": cuda(
        'extern "C" long write(int, const void*, unsigned long);\n', "  write(2, x, 4);\n"
    ),
    "one's own launch": cuda("", "  tt::cuda::launch<sum_rows>({1, 1}, x, y, size);\n"),
    "our solution of a kernel": (
        "5.2",
        f'#include "{TASKS["5.2"].folder}/solution.cu"\n',
    ),
    "kernels without an order": (
        "8.2",
        TASKS["8.2"]
        .solution()
        .replace("        groups[name].sort(key=lambda name: order[name])\n", ""),
    ),
    "kernels in the order of inputs": (
        "8.2",
        TASKS["8.2"]
        .solution()
        .replace(
            "        groups[name].sort(key=lambda name: order[name])\n",
            "        groups[name].append(groups[name].pop(0))\n",
        )
        .replace("set(inputs) & set(groups)", "[x for x in dict.fromkeys(inputs) if x in groups]"),
    ),
    "offsets that are never in each other's way": (
        "8.4",
        "class Place(int):\n"
        "    def __int__(self):\n        return self\n"
        "    def __eq__(self, other):\n        return True\n"
        "    def __le__(self, other):\n        return True\n"
        "    def __add__(self, other):\n        return self\n"
        "    __ge__ = __radd__ = __add__\n\n\n"
        "def plan(launches, sizes, kept):\n    return [Place(0) for _ in sizes]\n",
    ),
    "launches that are others when they are read again": (
        "8.7",
        "class Other(tuple):\n"
        "    def __iter__(self):\n        return iter(('gelu', (), (), ''))\n\n\n"
        "def recompute(launches, sizes, held, budget):\n"
        "    return [Other(launch) for launch in launches]\n",
    ),
    "all launches in the bytes of none": (
        "8.5",
        "def run(launches, held, read, write, whole):\n"
        "    for launch in launches:\n        whole(launch)\n",
    ),
}
# One thread with all of a block's sums in arrays of its own, which no count sees.
ATTACKS["tiles by one thread"] = (
    "5.4",
    """__global__ void matmul(const float* a, const float* b, float* c, int m, int k, int n) {
  if (threadIdx.x || threadIdx.y) return;
  const int row = blockIdx.y * 16, column = blockIdx.x * 16;
  float sum[16][16] = {};
  for (int p = 0; p < k; ++p) {
    float left[16], right[16];
    for (int i = 0; i < 16; ++i) left[i] = row + i < m ? a[(row + i) * k + p] : 0;
    for (int j = 0; j < 16; ++j) right[j] = column + j < n ? b[p * n + column + j] : 0;
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) sum[i][j] += left[i] * right[j];
  }
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j)
      if (row + i < m && column + j < n) c[(row + i) * n + column + j] = sum[i][j];
}
""",
)
ATTACKS["attention by one thread"] = (
    "5.6",
    """constexpr int kSize = 32;
__global__ void attention(const float* q, const float* k, const float* v, float* out, int queries,
                          int keys, float scale) {
  if (threadIdx.x) return;
  const int first = blockIdx.x * 64, count = min(64, queries - first), head = blockIdx.y;
  q += (head * queries + first) * kSize;
  out += (head * queries + first) * kSize;
  k += head * keys * kSize;
  v += head * keys * kSize;
  float mine[64][kSize], sums[64][kSize] = {}, most[64], total[64] = {};
  for (int i = 0; i < count; ++i) {
    most[i] = -INFINITY;
    for (int d = 0; d < kSize; ++d) mine[i][d] = q[i * kSize + d] * scale;
  }
  for (int j = 0; j < keys; ++j) {
    float key[kSize], value[kSize];
    for (int d = 0; d < kSize; ++d) key[d] = k[j * kSize + d], value[d] = v[j * kSize + d];
    for (int i = 0; i < count; ++i) {
      float score = 0;
      for (int d = 0; d < kSize; ++d) score += mine[i][d] * key[d];
      const float before = most[i];
      most[i] = max(most[i], score);
      const float shrink = expf(before - most[i]), weight = expf(score - most[i]);
      total[i] = total[i] * shrink + weight;
      for (int d = 0; d < kSize; ++d) sums[i][d] = sums[i][d] * shrink + weight * value[d];
    }
  }
  for (int i = 0; i < count; ++i)
    for (int d = 0; d < kSize; ++d) out[i * kSize + d] = sums[i][d] / total[i];
}
""",
)
UNSEEN = {  # functions that no sanitizer sees
    "an attribute": ("", '__attribute__((no_sanitize("thread")))'),
    "an attribute of its kind": ("", '[[gnu::no_sanitize("thread")]]'),
    "an attribute by using": ("", '[[using gnu: no_sanitize("thread")]]'),
    "an attribute of other letters": ("", "[[__gnu__::__no_sanitize_thread__]]"),
    "an attribute by a macro": ('#define A(x) __attribute__((x("thread")))\n', "A(no_sanitize)"),
    "a word that is pasted": (
        "#define P(x, y) x##y\n#define A P(__attri, bute__)\n", "A((no_sanitize_thread))",
    ),
    "a macro of a header": ("", '__align__(4), no_sanitize("thread"), aligned(4)'),
    "a poison that is undone": (
        "#undef __attribute__\n#define A __attribute__((no_sanitize_thread))\n", "A",
    ),
    "a header's lines": ('# 1 "other.h" 3\n', "__attribute__((no_sanitize_thread))"),
}  # fmt: skip
ATTACKS |= {
    f"a function hidden by {name}": (
        "5.2",
        above + SERIAL.replace("__global__", f"{attribute} __global__"),
    )
    for name, (above, attribute) in UNSEEN.items()
} | {
    "a hook that is nobody else's": (
        "5.2",
        'namespace {\nextern "C" void __tsan_read4(void*) {}\n}\n'
        + SERIAL.replace(
            "return;", "return;\n  void (*volatile f)(void*) = __tsan_read4;\n  f(y);"
        ),
    ),
    "a hook under another name": (
        "5.2",
        '#pragma redefine_extname __tsan_read4 mine\nextern "C" void mine(void*) {}\n' + SERIAL,
    ),
    "comparing in place of reading": cuda("", "  if (__builtin_memcmp(x, y, size) > 3) return;\n"),
    "a load of the processor's, in a kernel": (
        "5.2",
        COPY.replace(
            "HOW",
            "for (int i = 0; i < size; ++i) here[i] = __builtin_ia32_loadlps({}, "
            "(decltype(__builtin_ia32_cvtps2pi({})) const*)(x + i))[0];",
        ),
    ),
    "reading by atomicAdd": (
        "5.2",
        COPY.replace(
            "HOW",
            "for (int i = 0; i < size; ++i) here[i] = atomicAdd(const_cast<float*>(x) + i, 0.0f);",
        ),
    ),
}
