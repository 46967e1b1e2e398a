"""Samples of the methods of nn.Module, of a small network M of the floating dtype of x, called X."""

# ruff: noqa: E501 -- a sample is one string

from sweeps.sweep_cases import of

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 3)
        self.b = nn.Sequential(nn.ReLU(), nn.Linear(3, 2), nn.Dropout(0.5))
        self.register_buffer('c', torch.ones(2))
        self.register_buffer('t', torch.zeros(1), persistent=False)
    def forward(self, x, scale=1):
        return self.b(self.a(x)) * scale + self.c
X = x if x.is_floating_point() else x.float()
M = Net().to(X.dtype).eval()
"""


def method(names: str, *expressions: str) -> None:
    of(" ".join(f"nn.Module.{name}" for name in names.split()), *expressions, prepare=NET)


method(
    "__call__ forward",
    "M.LAST(X)",
    "M.LAST(X, scale=2)",
    "M.LAST(X, 3)",
    "M.LAST()",
    "M.LAST(X[..., :4])",
    "nn.Module().LAST(X)",
    "M.train().LAST(X)",
    "M.LAST(i)",
    "M.LAST(X, wrong=1)",
)
method(
    "__getattr__",
    "M.a.weight",
    "M.b",
    "M.c",
    "M.nothing",
    "getattr(M, 'nothing', 3), x",
    "hasattr(M, 'a'), x",
    "M.b.weight",
    "M.__getattr__('a').bias",
    "M.b[0]",
)
method(
    "__setattr__",
    "M.a = nn.Identity()\nrepr(M), x", "M.a = 3", "M.a = None\n[repr(M), [*M.state_dict()]], x", "M.c = X[0, 0, :2]\nM(X)", "M.c = None\n[*M.state_dict()], x",
    "M.c = 3", "M.z = nn.Parameter(X.detach())\n[*M.state_dict()], x", "M.a.weight = X", "M.a.weight = None\nM.a.weight, x", "M.z = 3\nM.z, x",
    "Q = nn.Module.__new__(nn.Module)\nQ.a = nn.ReLU()", "M.training = 3\nM.training, x", "M.c = nn.Parameter(X.detach())\n[[*M.state_dict()], [n for n, _ in M.named_buffers()]], x",
    "M.z = X\n[*M.state_dict()], x", "M.b = nn.Parameter(X.detach())\n[*M.state_dict()], x",
)  # fmt: skip
method(
    "__delattr__",
    "del M.a\nrepr(M), x",
    "del M.c\n[*M.state_dict()], x",
    "del M.a.weight\n[*M.state_dict()], x",
    "del M.nothing",
    "M.z = 3\ndel M.z\nM.z",
    "del M.training\nM.training",
)
method(
    "__repr__",
    "repr(M), x",
    "repr(nn.Module()), x",
    "repr(nn.Sequential(M, M)), x",
    "M.extra_repr = lambda: 'more'\nrepr(M), x",
    "M.extra_repr = lambda: 'a\\nb'\nrepr(M), x",
    "str(M), f'{M.a}', x",
    "M.z = None\nM.register_module('y', None)\nrepr(M), x",
    "repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])), x",
)
method(
    "extra_repr",
    "M.LAST(), x",
    "M.a.LAST(), x",
    "nn.Conv2d(3, 4, 3, padding=1, bias=False).LAST(), x",
    "nn.BatchNorm2d(3).LAST(), x",
    "nn.Dropout(0.1).LAST(), x",
    "nn.Softmax(1).LAST(), x",
    "nn.Embedding(3, 4, padding_idx=1).LAST(), x",
    "nn.LSTM(3, 4, 2, dropout=0.5).LAST(), x",
    "nn.ReLU(True).LAST(), x",
)
method(
    "__setstate__",
    "Q = M.__getstate__() if hasattr(M, '__getstate__') else M.__dict__\nR = Net()\nR.__setstate__(dict(Q))\n[R(X), repr(R)]",
    "R = Net.__new__(Net)\nR.__setstate__(dict(M.__dict__))\nR(X)",
    "R = Net()\nR.__setstate__({'training': False})\nR.training, x",
    "R = copy.deepcopy(M)\n[R(X), R.a.weight is M.a.weight]",
    "R = copy.copy(M)\n[R(X), R.a is M.a]",
    "M.__setstate__(3)",
)
method(
    "add_module register_module",
    "M.LAST('z', nn.ReLU())\nrepr(M), x",
    "M.LAST('z', None)\nrepr(M), x",
    "M.LAST('z', 3)",
    "M.LAST('c', nn.ReLU())",
    "M.LAST('', nn.ReLU())",
    "M.LAST('a.b', nn.ReLU())",
    "M.LAST(3, nn.ReLU())",
    "M.LAST('a', nn.Identity())\nrepr(M), x",
    "nn.Module.__new__(nn.Module).LAST('a', nn.ReLU())",
)
method(
    "register_buffer",
    "M.LAST('z', X.detach())\nM.state_dict()",
    "M.LAST('z', X.detach(), False)\n[M.state_dict(), M.z]",
    "M.LAST('z', None)\n[[*M.state_dict()], M.z], x",
    "M.LAST('z', 3)",
    "M.LAST('a', X)",
    "M.LAST('', X)",
    "M.LAST('a.b', X)",
    "M.LAST(3, X)",
    "M.LAST('c', X.detach(), persistent=False)\n[*M.state_dict()], x",
    "nn.Module.__new__(nn.Module).LAST('a', X)",
)
method(
    "register_parameter",
    "M.LAST('z', nn.Parameter(X.detach()))\nM.state_dict()",
    "M.LAST('z', None)\n[[*M.state_dict()], M.z], x",
    "M.LAST('z', X)",
    "M.LAST('z', 3)",
    "M.LAST('c', None)",
    "M.LAST('', None)",
    "M.LAST('a.b', None)",
    "M.LAST(3, None)",
    "M.LAST('z', nn.Parameter(X.detach()) * 1)",
    "nn.Module.__new__(nn.Module).LAST('a', None)",
)
method(
    "apply",
    "M.apply(lambda q: q.train())\n[q.training for q in M.modules()], x",
    "R = []\nM.apply(lambda q: R.append(type(q).__name__))\nR, x",
    "M.apply(lambda q: nn.init.ones_(q.weight) if isinstance(q, nn.Linear) else None)\nM(X)",
    "M.apply(3)",
    "M.apply(lambda q: None) is M, x",
    "def init(q):\n    if isinstance(q, nn.Linear):\n        q.weight.data.normal_(0, 0.02)\n        q.bias.data.zero_()\nM.apply(init)\nM.state_dict()",
)
method(
    "buffers named_buffers parameters named_parameters",
    "[*M.LAST()], x",
    "[*M.LAST(False)], x",
    "[*M.LAST(recurse=False)], x",
    "[*nn.Sequential(M, M).LAST()], x",
    "[*nn.Module().LAST()], x",
    "M.LAST(wrong=1)",
    "[*M.b.LAST()], x",
    "type(M.LAST()).__name__, x",
    "sum(q.numel() for q in M.parameters()), x",
)
method(
    "named_buffers named_parameters",
    "[*M.LAST('pre')], x",
    "[*M.LAST(prefix='pre', recurse=False)], x",
    "[n for n, _ in nn.Sequential(M, M).LAST(remove_duplicate=False)], x",
)
method(
    "children modules named_children named_modules",
    "[repr(q) for q in M.LAST()], x",
    "[repr(q) for q in nn.Sequential(M, M).LAST()], x",
    "[*nn.Module().LAST()], x",
    "M.LAST(wrong=1)",
    "M.add_module('z', None)\nlen([*M.LAST()]), x",
    "type(M.LAST()).__name__, x",
    "[repr(q) for q in nn.ReLU().LAST()], x",
    "M.z = M.a\nlen([*M.LAST()]), x",
)
method(
    "named_modules",
    "[n for n, _ in M.LAST(prefix='pre')], x",
    "[n for n, _ in nn.Sequential(M, M).LAST(remove_duplicate=False)], x",
    "M.LAST(set())\n[n for n, _ in M.LAST({M.a})], x",
)
method(
    "cpu double float half bfloat16",
    "R = M.LAST()\n[R is M, R.a.weight, R.c]",
    "M.LAST().state_dict()",
    "M.a.LAST()(X.LAST())",
    "Q = M.a.weight\nM.LAST()\nQ is M.a.weight, x",
    "M.LAST(3)",
    "M.register_buffer('k', torch.arange(3))\nM.LAST().k, x",
    "M.a.weight.grad = M.a.weight.detach() * 2\nM.LAST().a.weight.grad, x",
)
method(
    "cuda",
    "M.cuda()",
    "M.cuda(0)",
    "M.cuda(device='cuda:0')",
    "M.a.cuda()",
    "nn.Module().cuda(), x",
    "nn.ReLU().cuda() is not None, x",
    "M.cuda('text')",
)
method(
    "share_memory",
    "M.share_memory() is M, x",
    "M.share_memory()\n[q.is_shared() for q in M.parameters()], x",
    "M.share_memory()(X)",
    "nn.Module().share_memory() is not None, x",
)
method(
    "to",
    "M.to(torch.float64).state_dict()",
    "M.to('cpu') is M, x",
    "M.to(dtype=torch.float16).a.weight, x",
    "M.to(torch.int64)",
    "M.to(X)(X)",
    "M.to('cpu', torch.float64).c, x",
    "M.to(torch.device('cpu'), non_blocking=True) is M, x",
    "M.to()",
    "M.to('nowhere')",
    "M.to(3.5)",
    "M.to('cuda')",
    "M.to('meta')",
    "M.to(memory_format=torch.channels_last) is M, x",
    "M.to(i)",
    "nn.Conv2d(2, 2, 2).to(memory_format=torch.channels_last).weight.stride(), x",
)
method(
    "to_empty",
    "[(n, q.shape) for n, q in M.to_empty(device='cpu').named_parameters()], x",
    "M.to_empty(device=torch.device('cpu')) is M, x",
    "M.to_empty()",
    "M.to_empty(device='cuda')",
    "M.to_empty('cpu')",
)
method(
    "type",
    "M.type(torch.float64).state_dict()",
    "M.type('torch.DoubleTensor').c.dtype == torch.float64, x",
    "M.type(torch.int64).a.weight",
    "M.type(3)",
    "M.type(torch.float16) is M, x",
    "M.type()",
    "M.type(torch.DoubleTensor).a.weight",
)
method(
    "eval train",
    "M.LAST() is M, x",
    "M.LAST()\n[q.training for q in M.modules()], x",
    "M.train()\nM.LAST().b.training, x",
    "M.train().LAST()(X)",
    "M.LAST('a')",
    "nn.Sequential(M).LAST()[0].training, x",
    "M.LAST(1)",
)
method(
    "train",
    "M.train(False)\n[q.training for q in M.modules()], x",
    "M.train(True).b[2].training, x",
    "M.train(mode=False).training, x",
    "M.train(None)",
)
method(
    "training",
    "M.training, x",
    "M.train().training, x",
    "nn.Module().training, x",
    "M.b.train()\n[q.training for q in M.modules()], x",
    "M.training = True\nM.a.training, x",
)
method(
    "requires_grad_",
    "M.requires_grad_(False)\n[[q.requires_grad for q in M.parameters()], M(X)]",
    "M.requires_grad_() is M, x",
    "M.a.requires_grad_(False)\n[q.requires_grad for q in M.parameters()], x",
    "M.requires_grad_(requires_grad=False)\nM.b.requires_grad_(True)\nM(X)",
    "M.requires_grad_('a')",
    "M.requires_grad_(None)",
)
method(
    "zero_grad",
    "M(X).sum().backward()\nM.zero_grad()\n[q.grad for q in M.parameters()], x",
    "M(X).sum().backward()\nM.zero_grad(False)\n[q.grad for q in M.parameters()], x",
    "M(X).sum().backward()\n[q.grad for q in M.parameters()]",
    "M.zero_grad(set_to_none=False)\nM.a.weight.grad, x",
    "M.zero_grad(wrong=1)",
    "M.zero_grad() is None, x",
    "M(X).sum().backward()\nM.b.zero_grad()\n[q.grad for q in M.parameters()], x",
)
method(
    "get_buffer get_parameter get_submodule",
    *[
        f"M.LAST({target!r})"
        for target in (
            "c",
            "a.weight",
            "a",
            "b.1",
            "b.1.bias",
            "",
            "nothing",
            "a.nothing",
            "a.weight.data",
            "b.0",
            "b.7",
            "forward",
            "training",
        )
    ],
    "M.LAST(3)",
)
method(
    "set_submodule",
    "M.set_submodule('a', nn.Identity())\nrepr(M), x",
    "M.set_submodule('b.1', nn.Tanh())\nrepr(M), x",
    "M.set_submodule('', nn.Tanh())",
    "M.set_submodule('z', nn.Tanh())\nrepr(M), x",
    "M.set_submodule('z', nn.Tanh(), strict=True)",
    "M.set_submodule('a.z.q', nn.Tanh())",
    "M.set_submodule('c', nn.Tanh())",
    "M.set_submodule('a', 3)",
    "M.set_submodule('a.weight.q', nn.Tanh())",
    "M.set_submodule('forward', nn.Tanh())",
)
method(
    "state_dict",
    "M.state_dict()", "M.state_dict(prefix='pre.')", "M.state_dict(keep_vars=True)['a.weight'] is M.a.weight, x", "R = {}\nM.state_dict(destination=R)\nR",
    "M.state_dict()._metadata", "type(M.state_dict()).__name__, x", "[q.requires_grad for q in M.state_dict().values()], x", "M.state_dict('a')", "M.state_dict(wrong=1)",
    "nn.Sequential(M, nn.BatchNorm1d(2)).state_dict()", "M.state_dict()['a.weight'].zero_()\nM.a.weight, x",
)  # fmt: skip
SAVED = "S = {n: q + 1 for n, q in M.state_dict().items()}"
method(
    "load_state_dict",
    f"{SAVED}\n[M.load_state_dict(S), M.state_dict()]", f"{SAVED}\nS.pop('c')\nM.load_state_dict(S)", f"{SAVED}\nS.pop('c')\n[M.load_state_dict(S, strict=False), M(X)]",
    f"{SAVED}\nS['z'] = X\nM.load_state_dict(S)", f"{SAVED}\nS['z'] = X\nM.load_state_dict(S, False)", f"{SAVED}\nS['c'] = X\nM.load_state_dict(S)", f"{SAVED}\nS['c'] = X\nM.load_state_dict(S, strict=False)",
    f"{SAVED}\nM.load_state_dict(S, assign=True)\n[M.c is S['c'], M(X)]", "M.load_state_dict(3)", "M.load_state_dict({})", "M.load_state_dict({}, strict=False)", f"{SAVED}\nM.load_state_dict({{n: q.double() for n, q in S.items()}})\nM.state_dict()",
    f"{SAVED}\nS['c'] = 3\nM.load_state_dict(S)", f"{SAVED}\nQ = M.a.weight\nM.load_state_dict(S)\nQ is M.a.weight, x", "R = Net().to(X.dtype)\nrepr(R.load_state_dict(M.state_dict())), x", f"{SAVED}\nS['a.weight'] = S['a.weight'][:, :2]\nM.load_state_dict(S)",
)  # fmt: skip
method(
    "get_extra_state set_extra_state",
    "M.LAST()",
    "M.LAST(3)",
    "Net.get_extra_state = lambda self: {'n': 3}\nM.state_dict()",
    "Net.get_extra_state = lambda self: 3\nS = M.state_dict()\nM.load_state_dict(S)",
    "R = []\nNet.get_extra_state = lambda self: 3\nNet.set_extra_state = lambda self, q: R.append(q)\nM.load_state_dict(M.state_dict())\nR, x",
    "Net.set_extra_state = lambda self, q: None\nM.load_state_dict({n: q for n, q in M.state_dict().items()})",
    "Net.get_extra_state = lambda self: 3\nnn.Sequential(M).state_dict()",
    "Net.set_extra_state = lambda self, q: None\nM.load_state_dict({}, strict=False)",
)
method(
    "register_forward_hook",
    "R = []\nM.a.LAST(lambda q, args, out: R.append([len(args), out]))\nM(X)\nR", "M.a.LAST(lambda q, args, out: out * 2)\nM(X)", "H = M.a.LAST(lambda q, args, out: out * 2)\nH.remove()\nM(X)", "M.LAST(lambda q, args, kwargs, out: out * kwargs['scale'], with_kwargs=True)\nM(X, scale=3)",
    "R = []\nM.LAST(lambda *a: R.append(1))\nM.LAST(lambda *a: R.append(2), prepend=True)\nM(X)\nR, x", "M.LAST(lambda q: 3)\nM(X)", "R = []\nM.LAST(lambda *a: R.append(a[-1]), always_call=True)\ntry:\n    M(X[..., :2])\nexcept RuntimeError:\n    pass\nR, x", "M.LAST(3)\nM(X)", "with M.LAST(lambda q, a, out: out + 1):\n    R = M(X)\n[R, M(X)]", "M.LAST()",
)  # fmt: skip
method(
    "register_forward_pre_hook",
    "R = []\nM.b.LAST(lambda q, args: R.append(args))\nM(X)\nR", "M.LAST(lambda q, args: args[0] * 2)\nM(X)", "M.LAST(lambda q, args: (args[0] * 2, 3))\nM(X)", "H = M.LAST(lambda q, args: args[0] * 2)\nH.remove()\nM(X)", "M.LAST(lambda q, args, kwargs: (args, {'scale': 4}), with_kwargs=True)\nM(X)", "M.LAST(lambda q, args, kwargs: 3, with_kwargs=True)\nM(X)",
    "R = []\nM.LAST(lambda *a: R.append(1))\nM.LAST(lambda *a: R.append(2), prepend=True)\nM(X)\nR, x", "M.LAST(lambda q: 3)\nM(X)", "M.LAST()",
)  # fmt: skip
method(
    "register_full_backward_hook",
    "R = []\nM.a.LAST(lambda q, gi, go: R.append([gi, go]))\nM(X).sum().backward()\nR", "M.a.LAST(lambda q, gi, go: (gi[0] * 2,))\nM(X).sum().backward()\n[X.grad, M.a.weight.grad]", "R = []\nM.LAST(lambda q, gi, go: R.append([gi, go]))\nM(X.detach()).sum().backward()\nR", "H = M.LAST(lambda q, gi, go: 3)\nH.remove()\nM(X).sum().backward()\nX.grad, x",
    "M.LAST(lambda q, gi, go: (1, 2, 3))\nM(X).sum().backward()", "R = []\nM.b.LAST(lambda *a: R.append(1))\nM.b.LAST(lambda *a: R.append(2), prepend=True)\nM(X).sum().backward()\nR, x", "M.LAST(lambda q: 3)\nM(X).sum().backward()", "M.LAST(lambda *a: None)\nM(X)", "M.LAST()",
)  # fmt: skip
method(
    "register_full_backward_pre_hook",
    "R = []\nM.a.LAST(lambda q, go: R.append(go))\nM(X).sum().backward()\nR", "M.a.LAST(lambda q, go: (go[0] * 2,))\nM(X).sum().backward()\n[X.grad, M.a.weight.grad]", "M.LAST(lambda q, go: go[0] * 3)\nM(X).sum().backward()\nM.a.weight.grad, x", "H = M.LAST(lambda q, go: 3)\nH.remove()\nM(X).sum().backward()\nX.grad, x", "R = []\nM.b.LAST(lambda *a: R.append(1))\nM.b.LAST(lambda *a: R.append(2), prepend=True)\nM(X).sum().backward()\nR, x", "M.LAST(lambda q: 3)\nM(X).sum().backward()", "M.LAST()",
)  # fmt: skip
method(
    "register_state_dict_post_hook",
    "R = []\nM.LAST(lambda q, s, p, l: R.append([[*s], p, type(l).__name__]))\nM.state_dict(prefix='z.')\nR, x",
    "M.LAST(lambda q, s, p, l: s.pop('c') is None)\nM.state_dict()",
    "H = M.LAST(lambda q, s, p, l: s.clear())\nH.remove()\nM.state_dict()",
    "M.LAST(lambda q, s, p, l: s.clear())\nM.state_dict()",
    "M.LAST(lambda q: 3)\nM.state_dict()",
    "M.LAST()",
)
method(
    "register_state_dict_pre_hook",
    "R = []\nM.LAST(lambda q, p, k: R.append([p, k]))\nM.state_dict(prefix='z.')\nR, x",
    "M.b.LAST(lambda q, p, k: q.add_module('z', nn.Linear(1, 1).to(X.dtype)))\nM.state_dict()",
    "H = M.LAST(lambda q, p, k: 1 / 0)\nH.remove()\nM.state_dict()",
    "M.LAST(lambda q, p, k: 1 / 0)\nM.state_dict()",
    "M.LAST(lambda q: 3)\nM.state_dict()",
    "M.LAST()",
)
method(
    "register_load_state_dict_post_hook",
    "R = []\nM.LAST(lambda q, keys: R.append([*keys]))\nM.load_state_dict({}, strict=False)\nR, x",
    "M.LAST(lambda q, keys: keys.missing_keys.clear())\nM.load_state_dict({})",
    "H = M.LAST(lambda q, keys: 1 / 0)\nH.remove()\nM.load_state_dict(M.state_dict())",
    "M.LAST(lambda q, keys: 3)\nM.load_state_dict(M.state_dict())",
    "M.LAST(lambda q: 3)\nM.load_state_dict({}, False)",
    "M.LAST()",
)
method(
    "register_load_state_dict_pre_hook",
    "R = []\nM.b.LAST(lambda q, s, p, meta, strict, missing, extra, errors: R.append([[*s], p, meta, strict, missing, extra, errors]))\nM.load_state_dict(M.state_dict())\nR, x",
    "M.LAST(lambda q, s, p, *a: s.update({p + 'c': s.pop(p + 'old')}))\nS = M.state_dict()\nS['old'] = S.pop('c') + 1\nM.load_state_dict(S)\nM.c, x",
    "M.LAST(lambda *a: a[-1].append('bad'))\nM.load_state_dict(M.state_dict())",
    "H = M.LAST(lambda *a: 1 / 0)\nH.remove()\nM.load_state_dict(M.state_dict())",
    "M.LAST(lambda q: 3)\nM.load_state_dict({}, False)",
    "M.LAST()",
)
of(
    "nn.Module",
    "repr(nn.Module()), x",
    "nn.Module()(x)",
    "nn.Module().forward(x)",
    "nn.Module(3)",
    "[*nn.Module().state_dict()], x",
    "M(X)",
    "M",
    "copy.deepcopy(M)(X)",
    "M(X).sum().backward()\n[q.grad for q in M.parameters()]",
    "[n for n in dir(M) if n[0] in 'tz'], x",
    "class Bad(nn.Module):\n    def __init__(self):\n        self.a = nn.ReLU()\nBad()",
    prepare=NET,
)
