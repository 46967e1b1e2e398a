"""Samples of the sweep that are not calls of an op: expressions that both packages evaluate.

Their tensors (TENSORS) come in every dtype and layout: x (3, 4, 5), y (4, 5), p
positive, u in [-1, 1], m and n (4, 4), v and w (5,), s 0-d, one (1,), e empty; f float32, k and i
indices, b bool; d is the dtype. An expression may have statements in front of it.
"""

# ruff: noqa: E501 -- a sample is one string

# Names under which PyTorch's table of ops has another name's samples.
OPINFO_NAMES = {
    "slogdet": "linalg.slogdet",
    "Tensor.slogdet": "linalg.slogdet",
    "Tensor.matrix_power": "linalg.matrix_power",
    **{
        name: f"nn.functional.{name}"
        for name in (
            "adaptive_avg_pool1d", "alpha_dropout", "avg_pool1d", "bilinear", "celu",
            "channel_shuffle", "conv3d", "conv_transpose1d", "conv_transpose3d",
            "cosine_similarity", "group_norm", "hardshrink", "layer_norm", "max_pool1d",
            "max_pool2d", "max_pool3d", "pairwise_distance", "pdist", "pixel_shuffle",
            "pixel_unshuffle", "prelu", "relu", "rms_norm", "rrelu", "selu", "threshold",
        )
    },
}  # fmt: skip

# The tensors that an expression may name, which take every dtype: shape and domain.
TENSORS: dict[str, tuple] = {
    "x": ((3, 4, 5), "real"),
    "y": ((4, 5), "nonzero"),
    "p": ((3, 4, 5), "positive"),
    "u": ((3, 4, 5), "unit"),
    "m": ((4, 4), "real"),
    "n": ((4, 4), "nonzero"),
    "v": ((5,), "real"),
    "w": ((5,), "nonzero"),
    "s": ((), "nonzero"),
    "one": ((1,), "nonzero"),
    "e": ((0, 4), "real"),
}

# Statements before every expression of a name.
PREPARE: dict[str, str] = {}

EXPRESSIONS: dict[str, list[str]] = {}


def of(names: str, *expressions: str, prepare: str = "") -> None:
    """Samples for some names; NAME stands for the name, LAST for its last part."""
    for name in names.split():
        last = name.rpartition(".")[2]
        texts = [text.replace("NAME", name).replace("LAST", last) for text in expressions]
        EXPRESSIONS.setdefault(name, []).extend(texts)
        if prepare:
            PREPARE[name] = prepare.replace("NAME", name).replace("LAST", last)


# ------------------------------------------------------------------------------------- operators

for name, sign in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}.items():  # fmt: skip
    left = "p" if sign == "**" else "x"
    of(
        f"Tensor.__{name}__",
        *[f"{left} {sign} {other}" for other in ("y", "w", "s", "e", "2", "1.5", "True", "'text'")],
    )
    if name in ("eq", "ne", "lt", "le", "gt", "ge"):
        continue
    of(
        f"Tensor.__r{name}__",
        *[f"{n} {sign} {t}" for n in ("2", "1.5", "True", "None") for t in ("y", "s")],
    )
    of(
        f"Tensor.__i{name}__",
        *[f"{left} {sign}= {t}\n{left}" for t in ("y", "w", "s", "e", "2", "1.5", "True")],
    )
of("Tensor.__matmul__", "x @ y.mT", "m @ n", "v @ w", "x @ v", "m @ m[0]", "x @ 2", "s @ m")
of("Tensor.__rmatmul__", "y.mT.__rmatmul__(x)", "m.__rmatmul__(n)", "2 @ m", "np.eye(4) @ f[0]")
of("Tensor.__abs__", "abs(x)", "abs(s)", "abs(e)")
of("Tensor.__neg__", "-x", "-s", "-e")
of("Tensor.__pos__", "+x", "+s", "+e")
of("Tensor.__invert__", "~x", "~s", "~e")

# --------------------------------------------------------------------------- numbers and containers

of("Tensor.__bool__", "bool(s)", "bool(one)", "bool(x)", "bool(e)", "not s", "1 if one else 2")
of("Tensor.__float__", "float(s)", "float(one)", "float(x)", "float(e)", "math.floor(s)")
of("Tensor.__int__", "int(s)", "int(one)", "int(x)", "int(e)", "int(s * 0)")
of("Tensor.__index__", "[1, 2, 3, 4, 5, 6, 7][s % 3]", "range(10)[one]", "hex(s)", "[1][x]")
of("Tensor.__len__", "len(x)", "len(v)", "len(s)", "len(e)")
of("Tensor.__iter__", "[r for r in x]", "list(s)", "list(e)", "a, c, g = x\na", "max(v)", "sum(v)")
of("Tensor.__reversed__", "list(reversed(v))", "reversed(x)", "reversed(s)", "reversed(e)")
of("Tensor.__contains__", "1 in x", "x[0, 0, 0] in x", "1000 in x", "'a' in x", "None in x")
of(
    "Tensor.__format__",
    "f'{s}'",
    "f'{s:.3f}'",
    "f'{s:8}'",
    "f'{x}'",
    "f'{x:.2f}'",
    "f'{one:.2f}'",
    "'%s' % s",
    "f'{s:d}'",
)
of("Tensor.__hash__", "hash(x) == hash(x)", "{x: 1}[x]", "len({x, y, x})", "x in {x}")
of(
    "Tensor.__repr__ Tensor.__str__",
    "repr(x)",
    "str(v)",
    "str(s)",
    "repr(e)",
    "repr(one)",
    "repr(x * 1)",
    "str(x[0] > 0)",
    "repr(x.unsqueeze(0).expand(40, 3, 4, 5))",
    "str(p * 1e6)",
    "str(p / 1e6)",
    "x.requires_grad_()\nstr(x)",
    "x.requires_grad_()\nrepr(x.mean())",
)
of(
    "Tensor.__getitem__",
    "x[0]",
    "x[-1, 1]",
    "x[..., 0]",
    "x[None]",
    "x[:, ::2]",
    "x[1:1]",
    "x[i]",
    "x[:, i]",
    "x[i, i]",
    "x[i, :, i]",
    "x[b]",
    "x[b[..., 0]]",
    "x[[0, 2]]",
    "x[i[0]]",
    "x[:, k[0]]",
    "x[k % 3, ..., k]",
    "x[True]",
    "x[False]",
    "x[10]",
    "x['a']",
    "x[::-1]",
    "x[1.5]",
    "x[:, :, :, 0]",
    "x[k]",
    "x[b[0]]",
    "x[np.array([1, 0])]",
    "x[..., None, -1]",
    "s[()]",
    "s[None]",
    "s[0]",
    "e[:, 2]",
    "x[x > 0]",
    "x[torch.tensor(1)]",
    "x[torch.tensor([], dtype=torch.int64)]",
    "x[range(2)]",
    "x[(0, 1), (1, 2)]",
    "x[x]",
)
of(
    "Tensor.__setitem__",
    *[
        f"x[{index}] = {value}\nx"
        for index in ("0", "..., 1", ":, ::2", "i", "i, i", "b", "True", "[0, 2]", "x > 1")
        for value in ("2", "s", "True")
    ],
    "x[0] = y\nx",
    "x[:, 1] = v\nx",
    "x[i] = x[i] * 2\nx",
    "x[b] = x[b] + 1\nx",
    "x[b] = v\nx",
    "x[0] = x\nx",
    "x[10] = 1\nx",
    "x['a'] = 1",
    "x[0] = 'a'",
    "x[0] = None",
    "s[()] = 3\ns",
    "x[0] = 300\nx",
    "x[0] = 1.5\nx",
    "x[0] = math.nan\nx",
    "x[i, 0] = v\nx",
)

# ------------------------------------------------------------------------------- facts of a tensor

of(
    "Tensor.shape Tensor.ndim Tensor.dtype Tensor.device Tensor.layout Tensor.is_cuda Tensor.is_cpu "
    "Tensor.is_sparse Tensor.is_quantized Tensor.is_ipu Tensor.is_maia Tensor.is_meta "
    "Tensor.is_mkldnn Tensor.is_mps Tensor.is_mtia Tensor.is_nested Tensor.is_sparse_csr "
    "Tensor.is_vulkan Tensor.is_xla Tensor.is_xpu Tensor.is_leaf Tensor.requires_grad Tensor.itemsize "
    "Tensor.nbytes Tensor.grad Tensor.grad_fn Tensor.retains_grad Tensor.__array_priority__",
    "x.LAST",
    "s.LAST",
    "e.LAST",
    "x[1:, 0].LAST",
    "(x > 0).LAST",
    "del x.LAST",
)
of(
    "Tensor.dim Tensor.ndimension Tensor.numel Tensor.nelement Tensor.element_size Tensor.is_complex "
    "Tensor.is_floating_point Tensor.is_signed Tensor.is_contiguous Tensor.storage_offset "
    "Tensor.is_conj Tensor.is_distributed Tensor.is_neg "
    "Tensor.get_device Tensor.is_inference Tensor.is_nonzero Tensor.is_pinned Tensor.is_shared "
    "Tensor.type Tensor.size Tensor.stride Tensor.tolist Tensor.item Tensor.cpu Tensor.contiguous",
    "x.LAST()",
    "s.LAST()",
    "e.LAST()",
    "one.LAST()",
    "x[:, 1].LAST()",
    "x.mT.LAST()",
    "x.LAST(1, 2, 3)",
)
of(
    "Tensor.shape",
    "x.shape[1]",
    "x.shape == (3, 4, 5)",
    "x.shape[1:]",
    "[*x.shape, 1]",
    "str(x.shape)",
)
of(
    "Tensor.size Tensor.stride",
    "x.LAST(1)",
    "x.LAST(-1)",
    "x.LAST(3)",
    "s.LAST(0)",
    "x.LAST(dim=0)",
)
of("Tensor.is_contiguous", "x.is_contiguous(memory_format=torch.contiguous_format)")
of(
    "Tensor.is_contiguous Tensor.contiguous",
    "x[None].LAST(memory_format=torch.channels_last)",
    "x.LAST(memory_format=torch.channels_last)",
)
of("Tensor.requires_grad", "x.requires_grad = True\nx.requires_grad", "x.requires_grad = False")
of("Tensor.requires_grad", "(x.requires_grad_() * 1).requires_grad", "x.requires_grad = 'a'")
of("Tensor.requires_grad_", "x.requires_grad_()", "x.requires_grad_(False)", "e.requires_grad_()")
of(
    "Tensor.requires_grad_",
    "(f * 1).requires_grad_(False)",
    "f.requires_grad_(True).is_leaf",
    "(x*1).requires_grad_()",
)
of(
    "Tensor.is_leaf",
    "f.is_leaf",
    "(f * 1).is_leaf",
    "x.requires_grad_().is_leaf",
    "x.detach().is_leaf",
)
of(
    "Tensor.grad_fn",
    "x.requires_grad_()\ntype((x * 1).grad_fn).__name__",
    "x.requires_grad_()\nx.sum().grad_fn.name()",
)
of("Tensor.grad_fn", "x.requires_grad_()\n[e[1] for e in (x + y).grad_fn.next_functions]")
of(
    "Tensor.grad",
    "x.requires_grad_()\nx.grad",
    "x.requires_grad_()\n(x * x).sum().backward()\nx.grad",
    "x.requires_grad_()\nx.grad = x.detach() * 2\nx.grad",
    "x.grad = 1",
    "x.requires_grad_()\nx.grad = y",
    "x.requires_grad_()\nx.grad = x.detach().bool()",
    "x.grad = None",
)
of(
    "Tensor.data",
    "x.data",
    "x.data.add_(1)\nx",
    "x.data = p\nx",
    "x.data = 3",
    "x.requires_grad_().data.requires_grad",
    "x.data = f.detach()\nx",
    "x.data.zero_()\nx",
    "s.data",
    "e.data",
)
KIND = "Kind = type('Kind', (torch.Tensor,), {})\n"
of(
    "Tensor.data_ptr",
    "x.data_ptr() == x.view_as(x).data_ptr()",
    "x[1].data_ptr() - x.data_ptr()",
    "x.clone().data_ptr() == x.data_ptr()",
    "e.data_ptr()",
)
of(
    "Tensor.as_subclass",
    *[f"{KIND}type({x}.as_subclass(Kind)).__name__" for x in ("x", "s", "e", "f", "x[1:, 0]")],
    *[f"{KIND}{x}.as_subclass(Kind) * 2" for x in ("x", "s", "e", "x[1:, 0]")],
    f"{KIND}type(x.as_subclass(Kind) + x).__name__",
    f"{KIND}x.as_subclass(Kind).add_(1)\nx",
    f"{KIND}a = f.as_subclass(Kind)\na.is_leaf, a.requires_grad",
    f"{KIND}(f.as_subclass(Kind) * 3).sum().backward()\nf.grad",
    "x.as_subclass(torch.Tensor)",
    "x.as_subclass(3)",
    "x.as_subclass(int)",
    "x.as_subclass()",
)
of("Tensor.T", "m.T", "v.T", "s.T", "x.T")
of("Tensor.H Tensor.mH", "m.LAST", "v.LAST", "s.LAST", "x.LAST", "e.LAST")
of("Tensor.mT", "m.mT", "v.mT", "s.mT", "x.mT", "e.mT")
of(
    "Tensor.__reduce__ Tensor.__reduce_ex__",
    "pickle.loads(pickle.dumps(x))",
    "copy.copy(x)",
    "pickle.loads(pickle.dumps(e))",
    "pickle.loads(pickle.dumps(x[1:, 0]))",
)
of(
    "Tensor.__reduce__ Tensor.__reduce_ex__",
    "pickle.loads(pickle.dumps([x, x[0]]))",
    "pickle.loads(pickle.dumps(f)).requires_grad",
    "len(pickle.dumps(f * 1)) > 9",
)
of(
    "Tensor.__setstate__",
    "pickle.loads(pickle.dumps(x, 2))",
    "copy.deepcopy([x, x])",
    "f.__setstate__(())",
)
of(
    "Tensor.__deepcopy__",
    "copy.deepcopy(x)",
    "copy.deepcopy([x, x[0]])",
    "copy.deepcopy(x * 1)",
    "copy.deepcopy(s)",
    "copy.deepcopy(e)",
    "a = copy.deepcopy([x, x])\na[0] is a[1]",
)

# ---------------------------------------------------------------------------------- conversions

of(
    "Tensor.numpy Tensor.__array__",
    "x.LAST()",
    "s.LAST()",
    "e.LAST()",
    "x[:, 1:3].LAST()",
    "x.LAST().strides",
)
of(
    "Tensor.numpy",
    "x.numpy(force=True)",
    "x.requires_grad_().numpy()",
    "x.requires_grad_().numpy(force=True)",
)
of(
    "Tensor.__array__",
    "np.asarray(x)",
    "np.array(x, dtype='float64')",
    "np.asarray(x.requires_grad_())",
    "np.sum(np.asarray(x))",
    "x.__array__(np.float32)",
)
of(
    "Tensor.__array_wrap__",
    "np.sin(x)",
    "np.abs(x)",
    "np.add(x, 1)",
    "np.sqrt(p)",
    "np.exp(s)",
    "np.sign(e)",
    "np.sum(x)",
    "np.add(np.ones(5), v)",
)
of(
    "Tensor.__array_priority__",
    "np.ones(5) * v",
    "np.float32(2) * v",
    "np.ones(5) + f",
    "np.int64(2) * s",
    "v * np.ones(5)",
)
of(
    "Tensor.__dlpack__",
    "torch.from_dlpack(x)",
    "np.from_dlpack(x)",
    "torch.from_dlpack(e)",
    "torch.from_dlpack(x[:, 1])",
    "torch.from_dlpack(x.requires_grad_())",
    "type(x.__dlpack__()).__name__",
    "np.from_dlpack(s)",
)
of(
    "Tensor.__dlpack_device__",
    "[int(a) for a in x.__dlpack_device__()]",
    "[int(a) for a in e.__dlpack_device__()]",
)
of(
    "from_dlpack",
    "torch.from_dlpack(x)",
    "torch.from_dlpack(np.arange(5.0))",
    "torch.from_dlpack(3)",
    "a = torch.from_dlpack(x)\na.zero_()\nx",
    "torch.from_dlpack(np.arange(6).reshape(2, 3).T)",
    "torch.from_dlpack(e)",
)
of("Tensor.cuda", "x.cuda()", "s.cuda()", "e.cuda(0)", "x.cuda(non_blocking=True)")
of("Tensor.pin_memory", "x.pin_memory()", "s.pin_memory()", "x.pin_memory('cpu')", "e.pin_memory()")
of(
    "Tensor.share_memory_",
    "x.share_memory_()",
    "s.share_memory_()",
    "x.clone().share_memory_().is_shared()",
)
of(
    "Tensor.type",
    "x.type(torch.float32)",
    "x.type('torch.DoubleTensor')",
    "x.type(torch.IntTensor)",
    "x.type('nonsense')",
    "x.type(x.dtype)",
)
of("Tensor.type_as", "x.type_as(f)", "f.type_as(x)", "x.type_as(b)", "x.type_as(x)", "x.type_as(1)")
of(
    "Tensor.to",
    "x.to(f)",
    "x.to('cpu')",
    "x.to(torch.float64)",
    "x.to(torch.int32, copy=True)",
    "x.to(x.dtype)",
    "x.to(x.dtype, copy=True)",
    "x.to('cuda')",
    "x.to(3)",
    "x.to(device='cpu', dtype=torch.float32)",
    "x.to(other=f)",
    "x.to()",
)
of(
    "Tensor.new_tensor",
    "x.new_tensor([1, 2])",
    "x.new_tensor(3)",
    "x.new_tensor([[1.5]], dtype=torch.float64)",
    "x.new_tensor(y)",
    "x.new_tensor([1], requires_grad=True)",
    "x.new_tensor('a')",
)
for name, dtype in {
    "BFloat16": "bfloat16", "Bool": "bool", "Byte": "uint8", "Char": "int8", "Double": "float64",
    "Float": "float32", "Half": "float16", "Int": "int32", "Long": "int64", "Short": "int16", "": "float32",
}.items():  # fmt: skip
    of(
        f"{name}Storage",
        "[torch.NAME([1, 0, 1]).tolist(), len(torch.NAME(3)), torch.NAME().nbytes(), str(torch.NAME.dtype)], x",
        f"[isinstance(y.to(getattr(torch, d)).storage(), torch.NAME) for d in ('float32', '{dtype}')], x",
        "Q = torch.NAME(2)\nQ.fill_(1)\nQ[1] = 0\n[Q.tolist(), Q.type(), Q.element_size()], x",
        "torch.NAME('a')", "torch.NAME(1, 2)", "torch.NAME(x)", "torch.NAME.from_buffer(bytes(16), 'native').tolist(), x",
    )  # fmt: skip
of(
    "is_storage",
    "[torch.NAME(v) for v in (x, x.untyped_storage(), x.storage(), 3, None)], x",
    "torch.NAME()",
)
of(
    "UntypedStorage",
    "[torch.NAME([1, 2, 255]).tolist(), torch.NAME(5).nbytes(), torch.NAME().nbytes()], x",
    *[f"[torch.NAME({a}).tolist()], x" for a in ("[1.5]", "'a'", "1, 2", "x", "-1", "range(3)", "(), device='cpu'")],
    "Q = torch.NAME(4).fill_(3)\nQ[1:3] = 7\n[Q.tolist(), Q.copy_(torch.NAME([9, 8, 7, 6])).tolist(), Q.resize_(2).tolist(), Q[0]], x",
)  # fmt: skip
of(
    "TypedStorage",
    *[f"Q = torch.NAME({a})\n[Q.tolist(), str(Q.dtype), Q.nbytes()], x" for a in ("[1, 2, 3]", "[1, 2], dtype=torch.int64", "dtype=torch.int8", "wrap_storage=x.untyped_storage(), dtype=x.dtype", "3, 4", "x", "'a'", "wrap_storage=x.untyped_storage()")],
    "Q = torch.NAME([1, 2, 3])\nQ[1:] = 5.5\n[Q.tolist(), Q.int().tolist(), Q.clone().fill_(2).tolist(), Q.untyped().nbytes()], x",
)  # fmt: skip
of(
    "Tensor.storage Tensor.untyped_storage",
    "len(x.LAST())",
    "x.LAST().nbytes()",
    "x.LAST().data_ptr() == x.clone().LAST().data_ptr()",
    "type(x.LAST()).__name__",
    "x.LAST().tolist()[:4]",
    "x[1:].LAST().data_ptr() == x.LAST().data_ptr()",
    "x.LAST().size()",
)
of(
    "Tensor.detach",
    "x.detach()",
    "x.requires_grad_().detach().requires_grad",
    "a = x.detach()\na += 1\nx",
    "s.detach()",
    "(f * 1).detach().is_leaf",
)
of(
    "Tensor.detach_",
    "x.detach_()",
    "(x.requires_grad_() * 1).detach_().requires_grad",
    "s.detach_()",
    "x[0].detach_()",
    "(f * 1)[0].detach_()",
    "f.detach_().requires_grad",
)
of(
    "Tensor.copy_",
    "x.copy_(y)",
    "x.copy_(s)",
    "x.copy_(f)",
    "f.data.copy_(x)\nf",
    "y.copy_(x)",
    "x.copy_(3)",
    "x.copy_(x.flip(0))",
    "x.mT.copy_(x.mT)",
    "e.copy_(e)",
    "x.copy_(b)",
    "x.copy_([1, 2])",
)
of("Tensor.zero_", "x.zero_()", "x[:, 1].zero_()\nx", "s.zero_()", "e.zero_()")
of(
    "Tensor.random_",
    "x.random_()",
    "x.random_(10)",
    "x.random_(2, 7)",
    "s.random_()",
    "x.random_(5, 2)",
    "e.random_()",
    "x.random_(0, 2**40)",
    "x.random_(10, generator=torch.Generator().manual_seed(3))",
    "x[:, 1].random_(50)\nx",
)
of("Tensor.relu", "x.relu()", "s.relu()", "e.relu()")
of("Tensor.relu_", "x.relu_()", "s.relu_()", "e.relu_()", "x[0].relu_()\nx")
of(
    "relu",
    "torch.relu(x)",
    "torch.relu(s)",
    "torch.relu(e)",
    "torch.relu(input=x)",
    "torch.relu(1)",
)
of(
    "Tensor.prelu",
    "x.prelu(one)",
    "x.prelu(y[:, 0])",
    "x.prelu(v)",
    "s.prelu(one)",
    "v.prelu(one)",
    "x.prelu(m)",
)
of(
    "Tensor.fill_diagonal_",
    "m.fill_diagonal_(2)",
    "x[0].fill_diagonal_(1)\nx",
    "x.fill_diagonal_(1)",
    "m.fill_diagonal_(0, wrap=True)",
    "torch.zeros(7, 3, dtype=d).fill_diagonal_(1, wrap=True)",
    "torch.zeros(3, 3, 3, dtype=d).fill_diagonal_(2)",
    "v.fill_diagonal_(1)",
    "torch.zeros(7, 3, dtype=d).fill_diagonal_(1)",
)
of("Tensor.slogdet slogdet", "torch.eye(3).slogdet()")
of(
    "is_nonzero",
    "torch.is_nonzero(s)",
    "torch.is_nonzero(one)",
    "torch.is_nonzero(x)",
    "torch.is_nonzero(e)",
    "torch.is_nonzero(s * 0)",
    "torch.is_nonzero(1)",
)
of(
    "is_floating_point is_complex is_inference numel",
    "torch.LAST(x)",
    "torch.LAST(s)",
    "torch.LAST(e)",
    "torch.LAST(b)",
    "torch.LAST(3)",
    "torch.LAST(input=x)",
    "torch.LAST()",
)
of(
    "is_inference Tensor.is_inference",
    "with torch.inference_mode():\n    a = x * 1\na.is_inference()",
    "with torch.inference_mode():\n    a = x[0]\na.is_inference()",
    "with torch.inference_mode():\n    a = x * 1\na.requires_grad_()",
)
of(
    "is_tensor",
    "torch.is_tensor(x)",
    "torch.is_tensor(3)",
    "torch.is_tensor([x])",
    "torch.is_tensor(x.tolist())",
    "torch.is_tensor(None)",
    "torch.is_tensor(torch.Tensor)",
    "torch.is_tensor(s)",
    "torch.is_tensor(obj=x)",
)
of(
    "typename",
    "torch.typename(x)",
    "torch.typename(3)",
    "torch.typename([1])",
    "torch.typename(s)",
    "torch.typename('a')",
    "torch.typename(dict)",
    "torch.typename(None)",
)

# ------------------------------------------------------------------------------ hooks and backward

of("Tensor.backward autograd.backward",
    "x.requires_grad_()\n(x * x).sum().backward()\nx.grad",
    "x.requires_grad_()\n(x * y).backward(torch.ones_like(x))\nx.grad",
    "x.requires_grad_()\n(x * x).backward()",
    "x.backward()",
    "x.requires_grad_()\nz = (x * x).sum()\nz.backward(retain_graph=True)\nz.backward()\nx.grad",
    "x.requires_grad_()\nz = (x * x).sum()\nz.backward()\nz.backward()",
    "x.requires_grad_()\n(x ** 3).sum().backward(create_graph=True)\nx.grad.requires_grad",
    "x.requires_grad_()\ny.requires_grad_()\n(x * y).sum().backward(inputs=[x])\n[x.grad, y.grad]",
    "x.requires_grad_()\n(x * x).backward(torch.ones(2))",
    "x.requires_grad_()\n(x * x).backward(gradient=x.detach())\nx.grad",
)  # fmt: skip
of("autograd.backward",
    "x.requires_grad_()\ntorch.autograd.backward([x.sum(), (x * x).sum()])\nx.grad",
    "x.requires_grad_()\ntorch.autograd.backward([x * 1, x * x], [torch.ones_like(x), x.detach()])\nx.grad",
    "x.requires_grad_()\ntorch.autograd.backward(x.sum(), grad_tensors=torch.tensor(2.0, dtype=d))\nx.grad",
    "torch.autograd.backward(x.sum())",
    "torch.autograd.backward([x], [None, None])",
)  # fmt: skip
of("autograd.grad",
    "x.requires_grad_()\ntorch.autograd.grad((x * x).sum(), x)",
    "x.requires_grad_()\ntorch.autograd.grad(x * x, [x], x.detach())",
    "x.requires_grad_()\ny.requires_grad_()\ntorch.autograd.grad(x.sum(), [x, y])",
    "x.requires_grad_()\ny.requires_grad_()\ntorch.autograd.grad(x.sum(), [x, y], allow_unused=True)",
    "x.requires_grad_()\ny.requires_grad_()\ntorch.autograd.grad(x.sum(), [x, y], materialize_grads=True)",
    "x.requires_grad_()\ng, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)\ntorch.autograd.grad(g.sum(), x)",
    "x.requires_grad_()\ntorch.autograd.grad(x * x, x)",
    "torch.autograd.grad(x.sum(), x)",
    "x.requires_grad_()\nz = x * 2\ntorch.autograd.grad((z * z).sum(), z)",
    "x.requires_grad_()\ntorch.autograd.grad([x.sum(), (x * x).sum()], [x])",
    "v.requires_grad_()\ntorch.autograd.grad(v * v, v, torch.eye(5, dtype=d), is_grads_batched=True)",
)  # fmt: skip
of("Tensor.register_hook",
    "x.requires_grad_()\nseen = []\nx.register_hook(lambda g: seen.append(g))\n(x * x).sum().backward()\nseen",
    "x.requires_grad_()\nx.register_hook(lambda g: g * 2)\n(x * x).sum().backward()\nx.grad",
    "x.requires_grad_()\nh = x.register_hook(lambda g: g * 2)\nh.remove()\nx.sum().backward()\nx.grad",
    "x.register_hook(print)",
    "x.requires_grad_()\nz = x * 2\nz.register_hook(lambda g: g + 1)\nz.sum().backward()\nx.grad",
)  # fmt: skip
of("Tensor.register_post_accumulate_grad_hook",
    "x.requires_grad_()\nseen = []\nx.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad * 1))\nx.sum().backward()\nseen",
    "x.requires_grad_()\nh = x.register_post_accumulate_grad_hook(lambda p: 1 / 0)\nh.remove()\nx.sum().backward()\nx.grad",
    "x.register_post_accumulate_grad_hook(print)",
    "x.requires_grad_()\n(x * 1).register_post_accumulate_grad_hook(print)",
)  # fmt: skip
of("Tensor.retain_grad Tensor.retains_grad",
    "x.requires_grad_()\nz = x * 2\nz.retain_grad()\n(z * z).sum().backward()\nz.grad",
    "x.retain_grad()",
    "x.requires_grad_()\nx.retain_grad()\nx.retains_grad",
    "x.requires_grad_()\nz = x * 2\nz.retain_grad()\nz.retains_grad",
    "x.requires_grad_()\nz = x * 2\n(z * z).sum().backward()\nz.grad",
)  # fmt: skip

# -------------------------------------------------------------------------------- grad modes

for mode in ("no_grad", "enable_grad", "inference_mode"):
    of(f"{mode} autograd.{mode}",
        "x.requires_grad_()\nwith torch.NAME():\n    z = x * 2\nz.requires_grad",
        "x.requires_grad_()\n@torch.NAME()\ndef g(a):\n    return a * 2\ng(x).requires_grad",
        "x.requires_grad_()\n@torch.NAME\ndef g(a):\n    return a * 2\ng(x).requires_grad",
        "with torch.NAME():\n    q = torch.is_grad_enabled()\n[q, torch.is_grad_enabled(), x]",
        "x.requires_grad_()\nwith torch.no_grad():\n    with torch.NAME():\n        z = x * 2\nz.requires_grad",
        "@torch.NAME()\ndef g(a):\n    yield a * 2\nlist(g(x.requires_grad_()))[0].requires_grad",
        "torch.NAME(1, 2, 3)",
    )  # fmt: skip
of("inference_mode autograd.inference_mode",
    "with torch.NAME(False):\n    z = x.requires_grad_() * 2\nz.requires_grad",
    "with torch.NAME():\n    z = x * 2\nz.add_(1)",
    "with torch.NAME():\n    z = x * 2\n(z * x.requires_grad_()).sum().backward()",
)  # fmt: skip
of("set_grad_enabled autograd.set_grad_enabled",
    "torch.NAME(False)\nq = torch.is_grad_enabled()\ntorch.NAME(True)\n[q, x]",
    "with torch.NAME(False):\n    q = (x.requires_grad_() * 1).requires_grad\n[q, torch.is_grad_enabled()]",
    "with torch.no_grad():\n    with torch.NAME(True):\n        q = (x.requires_grad_() * 1).requires_grad\nq",
    "@torch.NAME(False)\ndef g(a):\n    return a * 1\ng(x.requires_grad_()).requires_grad",
    "torch.NAME()",
    "torch.NAME(mode=True)\ntorch.is_grad_enabled()",
)  # fmt: skip
of("is_grad_enabled is_inference_mode_enabled",
    "[torch.LAST(), x]",
    "with torch.no_grad():\n    q = torch.LAST()\n[q, x]",
    "with torch.inference_mode():\n    q = torch.LAST()\n[q, x]",
    "torch.LAST(1)",
    "with torch.enable_grad():\n    q = torch.LAST()\n[q, x]",
)  # fmt: skip
of("autograd.detect_anomaly autograd.set_detect_anomaly",
    "x.requires_grad_()\nwith torch.NAME(True):\n    (x * x).sum().backward()\nx.grad",
    "f.data.fill_(-1.0)\nwith torch.NAME(True):\n    f.sqrt().sum().backward()",
    "with torch.NAME(True, check_nan=False):\n    (f * math.nan).sum().backward()\nf.grad",
    "with torch.NAME(True):\n    (x.requires_grad_() * math.inf * 0).sum().backward()",
    "torch.NAME(1, 2, 3)",
)  # fmt: skip

# --------------------------------------------------------------------------------------- Function

SQUARE = """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a
    @staticmethod
    def backward(ctx, g):
        a, = ctx.saved_tensors
        return 2 * a * g
class Split(torch.autograd.Function):
    @staticmethod
    def forward(a, n):
        return a * n, (a * n).long()
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.n = inputs[1]
        ctx.needed = ctx.needs_input_grad
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
    @staticmethod
    def backward(ctx, g, h):
        assert h is None and ctx.needed == ctx.needs_input_grad
        return g * ctx.n, None
class Bump(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        a.add_(1)
        ctx.mark_dirty(a)
        return a
    @staticmethod
    def backward(ctx, g):
        return g * 3
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, c):
        return a + c
    @staticmethod
    def backward(ctx, g):
        return g
class Bare(torch.autograd.Function):
    pass
class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        a, = ctx.saved_tensors
        return 2 * a * g
"""
FUNCTION_SAMPLES = (
    "Square.apply(x)", "Square.apply(s)", "x.requires_grad_()\nSquare.apply(x).sum().backward()\nx.grad",
    "Split.apply(x, 3)", "Bump.apply(x * 1)", "x.requires_grad_()\nBump.apply(x)",
    "x.requires_grad_()\nWrong.apply(x, y).sum().backward()", "Bare.apply(x)", "Square.apply(3)",
    "x.requires_grad_()\ng, = torch.autograd.grad(Once.apply(x).sum(), x, create_graph=True)\ng.sum().backward()",
    "x.requires_grad_()\ntype(Square.apply(x).grad_fn).__name__", "Once.apply(x)", "Square(x)",
    "Bare.forward(x)", "Bare.backward(x)", "Bare.setup_context(1, 2, 3)",
)  # fmt: skip
of(
    "autograd.Function autograd.Function.apply autograd.Function.forward autograd.Function.backward "
    "autograd.Function.setup_context autograd.function.FunctionCtx.mark_dirty "
    "autograd.function.FunctionCtx.mark_non_differentiable autograd.function.FunctionCtx "
    "autograd.function.FunctionCtx.needs_input_grad autograd.function.FunctionCtx.saved_tensors "
    "autograd.function.FunctionCtx.save_for_backward autograd.function.once_differentiable "
    "autograd.function.FunctionCtx.set_materialize_grads",
    *FUNCTION_SAMPLES,
    prepare=SQUARE,
)
of(
    "autograd.Variable",
    "torch.autograd.Variable(x)",
    "torch.autograd.Variable(x, requires_grad=True).requires_grad",
    "isinstance(x, torch.autograd.Variable)",
    "torch.autograd.Variable(3)",
    "torch.autograd.Variable(f, True)",
)
of("autograd.gradcheck autograd.gradgradcheck",
    "torch.NAME(lambda a: a * a, (x.requires_grad_(),))",
    "torch.NAME(lambda a: (a * a).sum(), x.requires_grad_(), raise_exception=False)",
    "torch.NAME(lambda a: a.detach() * a, (v.requires_grad_(),), raise_exception=False)",
    "torch.NAME(lambda a: a.detach() * a * a, (v.requires_grad_(),))",
    "torch.NAME(lambda a, c: a * c.sin(), (x.requires_grad_(), y.requires_grad_()))",
    "torch.NAME(torch.exp, (x,))",
    "torch.NAME(torch.exp, (v.requires_grad_(),), eps=1e-5, atol=1e-3, rtol=1e-2)",
    "torch.NAME(lambda a: a > 0, (v.requires_grad_(),))",
)  # fmt: skip

# ---------------------------------------------------------------------------- functional, torch.func

for where in ("autograd.functional", "func"):
    functional = where == "autograd.functional"
    call = (lambda name, fn, args: f"torch.autograd.functional.{name}({fn}, {args})") if functional else (
        lambda name, fn, args: f"torch.func.{name}({fn})({args})")  # fmt: skip
    for name in (
        ("jacobian", "hessian")
        if functional
        else ("jacrev", "jacfwd", "hessian", "grad", "grad_and_value")
    ):
        scalar = name in ("hessian", "grad", "grad_and_value")
        of(f"{where}.{name}",
            call(name, "lambda a: (a ** 3).sum()", "v"),
            call(name, "lambda a: a.sin().prod()", "m"),
            call(name, "lambda a: (a * a)" + (".sum()" if scalar else ""), "v"),
            call(name, "lambda a: a * 2", "v"),
            call(name, "lambda a: a.exp()", "s"),
            call(name, "lambda a: (a[0] * w).sum()" if not scalar else "lambda a: (a[0] ** 2 * w).sum()", "m[:, :1] * w" ),
            call(name, "lambda a: 3", "v"),
        )  # fmt: skip
for name in ("jvp", "vjp", "hvp", "vhp"):
    scalar = name in ("hvp", "vhp")
    of(f"autograd.functional.{name}",
        f"torch.autograd.functional.{name}(lambda a: (a ** 3){'.sum()' if scalar else ''}, v, w)",
        f"torch.autograd.functional.{name}(lambda a: a.sin(){'.sum()' if scalar else ''}, x, x)",
        f"torch.autograd.functional.{name}(lambda a, c: (a * c){'.sum()' if scalar else ''}, (v, w), (w, v))",
        f"torch.autograd.functional.{name}(lambda a: (a ** 2).sum(), v)",
        f"torch.autograd.functional.{name}(lambda a: (a ** 2).sum(), v, m)",
        f"torch.autograd.functional.{name}(lambda a: (a ** 2).sum(), v, w, create_graph=True)",
        f"torch.autograd.functional.{name}(lambda a: 3, v, w)",
        f"torch.autograd.functional.{name}(lambda a: w.sum(), v, w, strict=True)",
    )  # fmt: skip
of("autograd.functional.jacobian autograd.functional.hessian",
    "torch.NAME(lambda a, c: (a * c * c).sum(), (v, w))",
    "torch.NAME(lambda a: (a ** 3).sum(), v, create_graph=True)",
    "torch.NAME(lambda a: (a ** 3).sum(), v, vectorize=True)",
    "torch.NAME(lambda a: w.sum(), v, strict=True)",
)  # fmt: skip
of(
    "func.jvp",
    "torch.func.jvp(torch.sin, (v,), (w,))",
    "torch.func.jvp(lambda a: a * a, (x,), (x,))",
    "torch.func.jvp(lambda a, c: a * c, (v, w), (w, v))",
    "torch.func.jvp(lambda a: (a * 2, a), (v,), (w,), has_aux=True)",
    "torch.func.jvp(torch.sin, (v,), (x,))",
    "torch.func.jvp(torch.sin, v, w)",
)
of(
    "func.vjp",
    "o, g = torch.func.vjp(torch.sin, v)\n[o, g(w)]",
    "o, g = torch.func.vjp(lambda a, c: a * c, v, w)\n[o, g(w)]",
    "o, g, aux = torch.func.vjp(lambda a: (a * 2, a), v, has_aux=True)\n[o, g(w), aux]",
    "o, g = torch.func.vjp(lambda a: a.sum(), x)\ng(s)",
    "o, g = torch.func.vjp(torch.sin, v)\ng(x)",
)
of(
    "func.grad func.grad_and_value",
    "torch.NAME(lambda a, c: (a * c).sum(), argnums=1)(v, w)",
    "torch.NAME(lambda a, c: (a * c).sum(), argnums=(0, 1))(v, w)",
    "torch.NAME(lambda a: (a.sum(), a), has_aux=True)(v)",
    "torch.NAME(lambda q: (q['a'] * q['c']).sum())({'a': v, 'c': w})",
    "torch.NAME(torch.NAME(lambda a: a ** 3))(s)",
)
of(
    "func.jacrev func.jacfwd func.hessian",
    "torch.NAME(lambda a, c: (a * c * c).sum(), argnums=1)(v, w)",
    "torch.NAME(lambda a, c: (a * c * a).sum(), argnums=(0, 1))(v, w)",
)
of("func.functional_call", *[
    text for call in ("torch.func.functional_call(net, {'weight': y[:2, :]}, (v,))", "torch.func.functional_call(net, dict(net.named_parameters()), v.float())",
    "torch.func.functional_call(net, {'weight': y[:2], 'bias': y[0, :2]}, x)", "torch.func.functional_call(net, {'nothing': y}, v)",
    "torch.func.functional_call(net, ({'weight': y[:2]}, {'bias': y[0, :2]}), (x,))", "torch.func.functional_call(net, {'weight': y[:2], 'bias': y[0, :2]}, args=(), kwargs={'input': x})",
    "torch.func.functional_call(net, {'weight': y[:2], 'bias': y[0, :2]}, x, strict=True)",
    "torch.func.functional_call(net, {'weight': y[:2], 'bias': y[0, :2]}, x)\nnet.weight.detach()",
    ) for text in [call]], prepare="net = torch.nn.Linear(5, 2)")  # fmt: skip

# ------------------------------------------------------------------------- constants, types, settings

of(
    "e pi inf nan",
    "torch.LAST",
    "x + torch.LAST",
    "torch.LAST * s",
    "x == torch.LAST",
    "torch.full((2,), torch.LAST)",
)
of("newaxis", "x[torch.newaxis]", "x[:, torch.newaxis, 0]", "torch.newaxis", "s[torch.newaxis]")
of(
    "__version__",
    "[x], isinstance(torch.__version__, str)",
    "[x], torch.__version__.count('.') >= 2",
    "[x], torch.__version__ >= '0'",
)
of(
    "bool uint8 int8 int16 int32 int64 short int long half bfloat16 float16 float float32 float64 "
    "double dtype",
    *["torch.LAST", "x.to(torch.LAST)", "torch.empty(2, dtype=torch.LAST).dtype", "x.dtype == torch.LAST", "torch.LAST.itemsize, x", "torch.LAST.is_floating_point, x", "repr(torch.LAST), x", "torch.LAST.is_signed, x", "copy.deepcopy(torch.LAST) is torch.LAST, x", "torch.zeros((2, 2)).type(torch.LAST), x", "pickle.loads(pickle.dumps(torch.LAST)) is torch.LAST, x"],
)  # fmt: skip
of(
    "bit bits16 bits1x8 bits2x4 bits4x2 bits8 cdouble cfloat chalf complex128 complex32 complex64 "
    "float4_e2m1fn_x2 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu "
    "int1 int2 int3 int4 int5 int6 int7 qint32 qint8 quint2x4 quint4x2 quint8 "
    "uint1 uint16 uint2 uint3 uint32 uint4 uint5 uint6 uint64 uint7",
    *["torch.LAST, x", "x.dtype == torch.LAST", "torch.LAST.itemsize, x", "torch.LAST.is_floating_point, x", "torch.LAST.is_complex, x", "torch.LAST.is_signed, x", "repr(torch.LAST), x", "torch.LAST.to_real(), x", "torch.LAST.to_complex(), x", "copy.deepcopy(torch.LAST) is torch.LAST, x", "pickle.loads(pickle.dumps(torch.LAST)) is torch.LAST, x"],
)  # fmt: skip
of("imag", "torch.imag(x)", "torch.imag(s)", "torch.imag(e)", "torch.imag(3)", "torch.imag()", "torch.imag(x, 1)", "torch.imag(input=x)", "torch.imag(one)", "torch.imag(x.mT)", "torch.imag(x > 0)")  # fmt: skip
of("Tensor.imag", "x.imag", "s.imag", "e.imag", "one.imag", "x[:, 1].imag", "x.mT.imag", "(x > 0).imag", "hasattr(x, 'imag')", "getattr(x, 'imag', None)", "x.detach().imag")  # fmt: skip
EXPRESSIONS["dtype"] = [
    "isinstance(d, torch.dtype)",
    "isinstance(x.dtype, torch.dtype)",
    "torch.dtype.__name__",
    "d.is_complex",
    "d.is_floating_point",
    "d.itemsize",
    "d.is_signed",
    "torch.dtype()",
    "repr(d)",
    "str(d)",
    "hash(d) == hash(x.dtype)",
    "d.to_real()",
    "d == 'a'",
]
of(
    "contiguous_format preserve_format memory_format",
    "x.clone(memory_format=torch.contiguous_format)",
    "x.mT.clone(memory_format=torch.contiguous_format)",
    "x.mT.clone(memory_format=torch.preserve_format)",
    "torch.zeros_like(x.mT, memory_format=torch.contiguous_format)",
    "x[None].contiguous(memory_format=torch.channels_last)",
    "repr(torch.contiguous_format)",
    "isinstance(torch.preserve_format, torch.memory_format)",
    "x.to(memory_format=torch.preserve_format)",
    "x[None].clone(memory_format=torch.channels_last)",
)
of(
    "layout strided",
    "x.layout",
    "torch.strided",
    "isinstance(x.layout, torch.layout)",
    "torch.empty(2, layout=torch.strided).shape",
    "repr(torch.strided)",
    "torch.zeros_like(x, layout=torch.strided)",
    "x.layout == torch.strided",
    "torch.zeros(2, layout='strided')",
)
of(
    "device",
    "torch.device('cpu')",
    "torch.device('cpu', 0)",
    "torch.device('cpu:1')",
    "torch.device('nonsense')",
    "torch.device(x.device)",
    "torch.device('cpu').type",
    "torch.device('cpu').index",
    "x.device == torch.device('cpu')",
    "torch.device(type='cpu')",
    "torch.device('cuda', 1)",
    "with torch.device('cpu'):\n    a = torch.zeros(2)\na",
    "str(torch.device('cpu'))",
    "hash(torch.device('cpu')) == hash(torch.device('cpu'))",
    "torch.device()",
    "torch.device('')",
    "pickle.loads(pickle.dumps(torch.device('cpu')))",
    "torch.device(0)",
    "torch.device('cuda:0')",
)
of(
    "finfo",
    *[
        f"torch.finfo(torch.{t}).{a}"
        for t in ("float16", "bfloat16", "float32", "float64")
        for a in ("eps", "max", "min", "tiny", "bits", "resolution", "smallest_normal", "dtype")
    ],
    "torch.finfo()",
    "torch.finfo(torch.int32)",
    "repr(torch.finfo(torch.float32))",
    "torch.finfo(d).max",
    "torch.finfo(type=torch.float32).eps",
    "torch.finfo(x.dtype).eps",
)
of(
    "iinfo",
    *[
        f"torch.iinfo(torch.{t}).{a}"
        for t in ("uint8", "int8", "int16", "int32", "int64")
        for a in ("max", "min", "bits", "dtype")
    ],
    "torch.iinfo()",
    "torch.iinfo(torch.float32)",
    "repr(torch.iinfo(torch.int8))",
    "torch.iinfo(d).max",
    "torch.iinfo(torch.bool)",
)
of(
    "Size",
    "torch.Size([2, 3])",
    "torch.Size((2, 3)) + (4,)",
    "torch.Size((2, 3)) + [4]",
    "torch.Size([])",
    "torch.Size([2, 3])[1:]",
    "torch.Size([2, 3]) == (2, 3)",
    "torch.Size(x.shape)",
    "torch.Size(['a'])",
    "torch.Size([1.5])",
    "repr(torch.Size([1]))",
    "isinstance(x.shape, torch.Size)",
    "x.shape[::2]",
    "torch.Size([2]) * 2",
    "hash(torch.Size([2])) == hash((2,))",
    "torch.Size()",
    "torch.Size(3)",
    "(1,) + x.shape",
)
of(
    "Size.numel",
    "x.shape.numel()",
    "s.shape.numel()",
    "e.shape.numel()",
    "torch.Size([2, 3]).numel()",
    "x.shape[1:].numel()",
    "x.shape.numel(1)",
)
of(
    "Tensor",
    "torch.Tensor([1, 2])",
    "torch.Tensor(2, 3).shape",
    "torch.Tensor()",
    "torch.Tensor(x.tolist())",
    "isinstance(x, torch.Tensor)",
    "torch.Tensor('a')",
    "torch.Tensor(f)",
    "torch.Tensor(x)",
    "torch.Tensor([[1, 2], [3]])",
    "torch.Tensor(np.ones(3, 'float32'))",
    "torch.Tensor(s).shape",
    "torch.Tensor(torch.Size([2])).shape",
    "torch.Tensor.__name__",
    "torch.Tensor([1.5, True, 3])",
    "torch.Tensor(2.5)",
)
of(
    "FloatTensor DoubleTensor HalfTensor LongTensor IntTensor ShortTensor CharTensor ByteTensor BoolTensor",
    "torch.LAST([1, 2])",
    "torch.LAST(2, 3).shape",
    "torch.LAST()",
    "torch.LAST(b.tolist())",
    "isinstance(x, torch.LAST)",
    "torch.LAST('a')",
    "torch.LAST(x)",
    "torch.LAST([[1, 0], [1, 1]])",
    "x.type(torch.LAST)",
    "torch.LAST(2, 3).dtype",
    "torch.LAST([[1], [1, 2]])",
    "torch.LAST([1]).type()",
    "isinstance(x.type(torch.LAST), torch.LAST)",
)

of(
    "set_default_dtype get_default_dtype",
    "torch.get_default_dtype()",
    "torch.set_default_dtype(torch.float64)\ntorch.ones(2)",
    "torch.set_default_dtype(torch.float64)\ntorch.get_default_dtype()",
    "torch.set_default_dtype(torch.int32)",
    "torch.set_default_dtype(d)\n[torch.ones(2), torch.tensor(1.5), x + 1.5, b / 2]",
    "torch.set_default_dtype('a')",
    "torch.get_default_dtype(1)",
    "torch.set_default_dtype(d=torch.float64)\ntorch.rand(2).dtype",
)
of(
    "set_default_tensor_type",
    "torch.set_default_tensor_type(torch.DoubleTensor)\ntorch.ones(2)",
    "torch.set_default_tensor_type('torch.DoubleTensor')\ntorch.tensor(1.5)",
    "torch.set_default_tensor_type(torch.FloatTensor)\nx + 1.5",
    "torch.set_default_tensor_type(torch.LongTensor)",
    "torch.set_default_tensor_type('nonsense')",
    "torch.set_default_tensor_type(torch.HalfTensor)\ntorch.ones(2).dtype",
)
of(
    "get_default_device set_default_device",
    "torch.get_default_device()",
    "torch.set_default_device('cpu')\n[torch.get_default_device(), x]",
    "torch.set_default_device(None)\n[torch.get_default_device(), x]",
    "torch.set_default_device('nonsense')",
    "torch.set_default_device(torch.device('cpu'))\ntorch.ones(2), torch.set_default_device(None), x",
    "torch.get_default_device(1)",
)
of(
    "get_num_threads set_num_threads",
    "n = torch.get_num_threads()\ntorch.set_num_threads(1)\nq = torch.get_num_threads()\n[q, x]",
    "torch.set_num_threads(0)",
    "torch.set_num_threads(-1)",
    "torch.set_num_threads('a')",
    "torch.set_num_threads(1.5)",
    "torch.set_num_threads(2)\nq = [torch.get_num_threads(), x.sum()]\ntorch.set_num_threads(1)\nq",
)
of(
    "get_num_interop_threads set_num_interop_threads",
    "type(torch.get_num_interop_threads()).__name__, x",
    "torch.set_num_interop_threads(0)",
    "torch.set_num_interop_threads(-1)",
    "torch.set_num_interop_threads('a')",
    "torch.get_num_interop_threads() >= 1, x",
    "torch.get_num_interop_threads(1)",
)
of(
    "get_float32_matmul_precision set_float32_matmul_precision",
    "torch.set_float32_matmul_precision('high')\nq = torch.get_float32_matmul_precision()\ntorch.set_float32_matmul_precision('highest')\n[q, x]",
    "torch.get_float32_matmul_precision()",
    "torch.set_float32_matmul_precision('medium')\nq = m @ m\ntorch.set_float32_matmul_precision('highest')\nq",
    "torch.set_float32_matmul_precision('nonsense')\ntorch.get_float32_matmul_precision()",
    "torch.set_float32_matmul_precision(3)",
)
of(
    "utils.deterministic.fill_uninitialized_memory",
    "torch.use_deterministic_algorithms(True)\nq = [torch.empty(3), torch.empty_like(x)]\ntorch.use_deterministic_algorithms(False)\n[*q, torch.utils.deterministic.fill_uninitialized_memory]",
    "torch.utils.deterministic.fill_uninitialized_memory = 1",
)
of(
    "get_deterministic_debug_mode set_deterministic_debug_mode is_deterministic_algorithms_warn_only_enabled",
    "torch.set_deterministic_debug_mode('warn')\nq = [torch.get_deterministic_debug_mode(), torch.is_deterministic_algorithms_warn_only_enabled()]\ntorch.set_deterministic_debug_mode(0)\n[*q, torch.get_deterministic_debug_mode(), torch.is_deterministic_algorithms_warn_only_enabled(), x]",
    "torch.set_deterministic_debug_mode('loud')",
    "torch.set_deterministic_debug_mode(None)",
)
of(
    "use_deterministic_algorithms are_deterministic_algorithms_enabled",
    "torch.use_deterministic_algorithms(True)\nq = torch.are_deterministic_algorithms_enabled()\ntorch.use_deterministic_algorithms(False)\n[q, torch.are_deterministic_algorithms_enabled(), x]",
    "torch.use_deterministic_algorithms(True, warn_only=True)\nq = torch.are_deterministic_algorithms_enabled()\ntorch.use_deterministic_algorithms(False)\n[q, x]",
    "torch.use_deterministic_algorithms()",
    "torch.use_deterministic_algorithms('a')",
    "torch.use_deterministic_algorithms(True)\nq = m @ m\ntorch.use_deterministic_algorithms(False)\nq",
)
of(
    "set_printoptions",
    *[
        f"torch.set_printoptions({o})\nq = repr({t})\ntorch.set_printoptions(profile='default')\nq"
        for o in (
            "precision=2",
            "sci_mode=True",
            "profile='full'",
            "profile='short'",
            "linewidth=40",
            "threshold=10, edgeitems=1",
            "sci_mode=False, precision=8",
        )
        for t in ("x", "v")
    ],
    "torch.set_printoptions(nonsense=1)",
)
of(
    "promote_types",
    *[
        f"torch.promote_types(d, torch.{t})"
        for t in ("bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32", "float64")
    ],
    "torch.promote_types(d, 1)",
    "torch.promote_types(type1=d, type2=d)",
)
of(
    "can_cast",
    *[
        f"torch.can_cast(d, torch.{t})"
        for t in ("bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32", "float64")
    ],
    "torch.can_cast(d, 1)",
    "torch.can_cast(from_=d, to=d)",
)
of(
    "result_type",
    "torch.result_type(x, y)",
    "torch.result_type(x, 1)",
    "torch.result_type(x, 1.5)",
    "torch.result_type(1, x)",
    "torch.result_type(x, f)",
    "torch.result_type(s, x)",
    "torch.result_type(s, b)",
    "torch.result_type(1, 1.5)",
    "torch.result_type(x, True)",
    "torch.result_type(x, s)",
    "torch.result_type(x)",
    "torch.result_type(tensor=x, other=y)",
)
of(
    "return_types",
    "torch.return_types.max.__name__",
    "type(x.max(0)).__name__",
    "isinstance(x.max(0), torch.return_types.max)",
    "isinstance(x.sort(0), torch.return_types.sort)",
    "len(x.max(0))",
    "x.topk(1).values",
    "repr(v.max(0))",
    "v.min(0).indices",
    "torch.return_types.sort((1, 2)).values",
    "x.median(0).values",
    "x.mode(0).indices",
    "x.kthvalue(1, 0).values",
)

# ---------------------------------------------------------------------------------------- creation

of(
    "tensor",
    "torch.tensor(x.tolist(), dtype=d)",
    "torch.tensor([1, 2.5, True])",
    "torch.tensor([])",
    "torch.tensor(3, dtype=d)",
    "torch.tensor(x)",
    "torch.tensor(np.arange(3))",
    "torch.tensor('a')",
    "torch.tensor([[1], [2, 3]])",
    "torch.tensor([1, 'a'])",
    "torch.tensor([s, s])",
    "torch.tensor(1.5, requires_grad=True)",
    "torch.tensor(1, requires_grad=True)",
    "torch.tensor(2**70)",
    "torch.tensor([2**40], dtype=torch.int32)",
    "torch.tensor(range(3))",
    "torch.tensor(((1, 2), (3, 4)), dtype=d)",
    "torch.tensor(np.float32(2))",
    "torch.tensor([np.float64(2)])",
    "torch.tensor(None)",
    "torch.tensor([True, False])",
    "torch.tensor(data=[1])",
    "torch.tensor([1.5], dtype=d)",
    "torch.tensor([-1], dtype=d)",
    "torch.tensor([x[0], x[1]])",
    "torch.tensor({1: 2})",
    "torch.tensor(1, device='cuda')",
)
of(
    "as_tensor asarray",
    "torch.LAST(x)",
    "torch.LAST(x.tolist())",
    "torch.LAST(np.arange(3.0))",
    "torch.LAST(x, dtype=torch.float32)",
    "torch.LAST(3)",
    "torch.LAST([1, 2], dtype=d)",
    "a = torch.LAST(x)\na.data.zero_()\nx",
    "q = np.zeros(3)\na = torch.LAST(q)\na += 1\nq",
    "torch.LAST('a')",
    "torch.LAST(x, dtype=x.dtype)",
    "torch.LAST([])",
    "torch.LAST(np.float32(2))",
    "torch.LAST(None)",
    "torch.LAST([s, s])",
)
of(
    "asarray",
    "torch.asarray(x, copy=True)",
    "torch.asarray(np.ones(3), copy=False)",
    "torch.asarray([1], copy=False)",
    "torch.asarray(x, requires_grad=True)",
    "torch.asarray(bytearray(b'abcd'), dtype=torch.uint8)",
    "torch.asarray(x, dtype=torch.float32, copy=False)",
    "torch.asarray([1, 2], copy=True)",
)
of(
    "from_numpy",
    "torch.from_numpy(x.numpy())",
    "torch.from_numpy(np.arange(6).reshape(2, 3).T)",
    "torch.from_numpy(np.ones(3)[::2])",
    "torch.from_numpy(np.ones(3)[::-1])",
    "q = np.zeros(3)\na = torch.from_numpy(q)\na += 1\nq",
    "torch.from_numpy([1])",
    "torch.from_numpy(np.array('a'))",
    "torch.from_numpy(np.float32(1))",
    "torch.from_numpy(np.zeros((0, 2)))",
    "torch.from_numpy(np.array(3.0))",
    "torch.from_numpy(np.zeros(2, '>f4'))",
    "torch.from_numpy(np.array([None]))",
    "torch.from_numpy(np.zeros(2, np.uint16)).shape",
)
of(
    "frombuffer",
    "torch.frombuffer(bytearray(range(16)), dtype=d)",
    "torch.frombuffer(bytearray(range(16)), dtype=d, count=1)",
    "torch.frombuffer(bytearray(range(16)), dtype=d, offset=8)",
    "torch.frombuffer(bytearray(range(16)), dtype=d, count=100)",
    "torch.frombuffer(bytearray(), dtype=d)",
    "torch.frombuffer(b'abcdefgh', dtype=d)",
    "torch.frombuffer(bytearray(range(16)), dtype=d, offset=100)",
    "torch.frombuffer('a', dtype=d)",
    "torch.frombuffer(bytearray(15), dtype=d).shape",
    "torch.frombuffer(bytearray(range(16)), dtype=d, offset=-1)",
    "torch.frombuffer(np.arange(4.0), dtype=torch.float64, requires_grad=True)",
)
of(
    "arange",
    "torch.arange(5, dtype=d)",
    "torch.arange(1, 2.5, 0.5)",
    "torch.arange(5, 0, -2)",
    "torch.arange(1, 10, 3, dtype=d)",
    "torch.arange(0)",
    "torch.arange(5, 0)",
    "torch.arange(0, 1, 0)",
    "torch.arange(start=1, end=3)",
    "torch.arange(s)",
    "torch.arange('a')",
    "torch.arange(math.inf)",
    "torch.arange(2.0, out=torch.empty(0))",
    "torch.arange(True)",
)
of(
    "empty_strided",
    "torch.empty_strided((2, 3), (1, 2), dtype=d).stride()",
    "torch.empty_strided((2, 3), (3, 1)).shape",
    "torch.empty_strided((2,), (-1,))",
    "torch.empty_strided((2, 3), (1,))",
    "torch.empty_strided((), ()).shape",
    "torch.empty_strided((2, 3), (0, 1), dtype=d).shape",
    "torch.empty_strided((0, 3), (1, 1)).stride()",
)
of(
    "scalar_tensor",
    "torch.scalar_tensor(3, dtype=d)",
    "torch.scalar_tensor(1.5)",
    "torch.scalar_tensor(True)",
    "torch.scalar_tensor(s)",
    "torch.scalar_tensor('a')",
    "torch.scalar_tensor(3, requires_grad=True)",
)
of(
    "rand randn",
    "torch.LAST(3, dtype=d)",
    "torch.LAST(2, 3)",
    "torch.LAST((2, 3))",
    "torch.LAST(())",
    "torch.LAST(0)",
    "torch.LAST(20, dtype=torch.float64)",
    "torch.LAST(3, generator=torch.Generator().manual_seed(1))",
    "torch.LAST(-1)",
    "torch.LAST('a')",
    "torch.LAST(2, requires_grad=True).requires_grad",
    "torch.LAST(2, out=torch.empty(2))",
    "torch.LAST(2, 2, out=torch.empty(0))",
    "torch.LAST(size=(2,))",
    "torch.LAST(100)",
    "torch.LAST(1.5)",
    "torch.LAST(3, generator=3)",
)
of(
    "randperm",
    "torch.randperm(10)",
    "torch.randperm(10, dtype=d)",
    "torch.randperm(0)",
    "torch.randperm(-1)",
    "torch.randperm(1.5)",
    "torch.randperm(5, generator=torch.Generator().manual_seed(1))",
    "torch.randperm(5, out=torch.empty(0, dtype=torch.int64))",
    "torch.randperm(1000)[:20]",
    "torch.randperm(300, dtype=d)",
)
of(
    "poisson",
    "torch.poisson(p)",
    "torch.poisson(s.abs())",
    "torch.poisson(e)",
    "torch.poisson(p, generator=torch.Generator().manual_seed(1))",
    "torch.poisson(-p)",
    "torch.poisson(p * 20)",
    "torch.poisson(3)",
)
of(
    "vander",
    "torch.vander(v)",
    "torch.vander(v, 3)",
    "torch.vander(v, N=2, increasing=True)",
    "torch.vander(x)",
    "torch.vander(v, 0)",
    "torch.vander(v, -1)",
    "torch.vander(e[:, 0])",
    "torch.vander(v, increasing=True)",
)
of(
    "randint_like",
    "torch.randint_like(x, 10)",
    "torch.randint_like(x, 2, 7)",
    "torch.randint_like(x, 0)",
    "torch.randint_like(s, 5)",
    "torch.randint_like(e, 5)",
    "torch.randint_like(x, 10, dtype=torch.int64)",
    "torch.randint_like(x, 10, memory_format=torch.contiguous_format)",
    "torch.randint_like(x, torch.tensor(10))",
)
of(
    "broadcast_shapes",
    "torch.broadcast_shapes(x.shape, y.shape)",
    "torch.broadcast_shapes((2,), (3, 1))",
    "torch.broadcast_shapes()",
    "torch.broadcast_shapes((2,), (3,))",
    "torch.broadcast_shapes(3, (2, 1))",
    "torch.broadcast_shapes((-1,), (3,))",
)
of("masked_fill where", "torch.where(x > 0, x, 0)", "torch.where(b, x, y)", "torch.where(b)")
of(
    "einsum",
    "torch.einsum('ij,jk->ik', m, n)",
    "torch.einsum('ij,jk', m, n)",
    "torch.einsum('ii', m)",
    "torch.einsum('ii->i', m)",
    "torch.einsum('...ij,j->...i', x, v)",
    "torch.einsum('i,j', v, w)",
    "torch.einsum('ij->ji', m)",
    "torch.einsum('bij,bkj->bik', x, x)",
    "torch.einsum('ij,ij,ij->', m, n, m)",
    "torch.einsum(m, [0, 1], n, [1, 2], [0, 2])",
    "torch.einsum('ij', x)",
    "torch.einsum('ij,kk', m, x)",
    "torch.einsum('a->b', v)",
    "torch.einsum('i->ii', v)",
    "torch.einsum('ij, jk -> ki', [m, n])",
    "torch.einsum('Ab,bA->', m, n)",
    "torch.einsum('...,...->...', x, y)",
)

# ------------------------------------------------------------------------------------------ random

GENERATOR = "g = torch.Generator()\ng.manual_seed(5)"
of(
    "manual_seed random.manual_seed",
    "torch.NAME(3)\ntorch.rand(2, dtype=d)",
    "torch.NAME(-3)\ntorch.rand(2)",
    "torch.NAME(2**63)\ntorch.rand(2)",
    "torch.NAME(2**64)",
    "torch.NAME('a')",
    "torch.NAME(1.5)\ntorch.rand(2)",
    "type(torch.NAME(3)).__name__",
    "torch.NAME(3).initial_seed()",
    "torch.NAME()",
    "torch.NAME(seed=3)\nx.random_(10)",
    "torch.NAME(True)\ntorch.rand(2)",
)
of(
    "seed random.seed",
    "type(torch.NAME()).__name__, x",
    "torch.NAME() == torch.initial_seed(), x",
    "torch.NAME(1)",
    "torch.NAME() != torch.NAME(), x",
)
of(
    "initial_seed random.initial_seed",
    "torch.manual_seed(9)\n[torch.NAME(), x]",
    "torch.manual_seed(-1)\ntorch.NAME()",
    "torch.NAME(1)",
    "torch.manual_seed(9)\ntorch.rand(4)\n[torch.NAME(), x]",
)
of(
    "get_rng_state random.get_rng_state set_rng_state random.set_rng_state",
    "torch.get_rng_state()",
    "q = torch.get_rng_state()\na = torch.rand(3)\ntorch.set_rng_state(q)\n[a, torch.rand(3), x]",
    "torch.random.set_rng_state(torch.random.get_rng_state())",
    "torch.set_rng_state(x)",
    "torch.set_rng_state(3)",
    "torch.randn(7)\ntorch.get_rng_state()",
    "torch.set_rng_state(torch.zeros(10, dtype=torch.uint8))",
    "q = torch.get_rng_state()\ntorch.randn(1)\ntorch.set_rng_state(q)\ntorch.randn(3)",
    "torch.set_rng_state()",
)
of(
    "random.fork_rng",
    "with torch.random.fork_rng():\n    a = torch.rand(2)\n[a, torch.rand(2), x]",
    "with torch.random.fork_rng(enabled=False):\n    a = torch.rand(2)\n[a, torch.rand(2), x]",
    "with torch.random.fork_rng(devices=[]):\n    torch.manual_seed(1)\n    a = torch.randn(2)\n[a, torch.randn(2)]",
    "@torch.random.fork_rng()\ndef q():\n    return torch.rand(2)\n[q(), torch.rand(2)]",
    "torch.random.fork_rng(1, 2, 3, 4, 5, 6, 7)",
)
of(
    "Generator Generator.device Generator.get_state Generator.set_state Generator.initial_seed "
    "Generator.manual_seed Generator.seed",
    "torch.rand(3, generator=g, dtype=d)", "g.device", "torch.Generator('cpu').device", "torch.Generator(device='cpu').initial_seed()",
    "g.get_state()", "q = g.get_state()\na = torch.rand(3, generator=g)\ng.set_state(q)\n[a, torch.rand(3, generator=g), x]",
    "g.set_state(x)", "g.set_state(3)", "g.initial_seed()", "g.manual_seed(-2).initial_seed()", "g.manual_seed('a')", "g.manual_seed(2**64)",
    "type(g.seed()).__name__", "g.seed() == g.initial_seed()", "torch.Generator('cuda')", "torch.Generator('nonsense')", "x.random_(9, generator=g)",
    "torch.Generator().initial_seed()", "torch.randn(17, generator=g)", "torch.randperm(9, generator=g)", "h = torch.Generator()\nh.set_state(g.get_state())\ntorch.rand(2, generator=h)",
    prepare=GENERATOR,
)  # fmt: skip

# ----------------------------------------------------------------------------------- distributions

DISTRIBUTIONS = {
    "Bernoulli": ("u.abs()[0, 0]", "logits=v", "probs=0.3", "probs=v * 9"),
    "Categorical": ("p[0]", "logits=m", "probs=p[0, 0]", "probs=-p"),
    "Normal": ("v, w.abs()", "0.0, 1.0", "v, 2.0", "v, -w.abs()"),
    "Beta": ("p[0, 0], p[0, 1]", "0.5, 0.5", "p[0], 2.0", "v, v - 10"),
    "Dirichlet": ("p[0]", "p[0, 0]", "torch.ones(3)", "v - 10"),
    "Exponential": ("p[0, 0]", "2.0", "p", "v - 10"),
    "Gamma": ("p[0, 0], p[0, 1]", "0.5, 2.0", "p[0], 2.0", "v - 10, v"),
    "Geometric": ("u.abs()[0, 0]", "0.3", "logits=v", "v * 9"),
    "Laplace": ("v, w.abs()", "0.0, 1.0", "v, 2.0", "v, -w.abs()"),
    "LogNormal": ("v, w.abs()", "0.0, 1.0", "v, 2.0", "v, -w.abs()"),
    "MultivariateNormal": ("m[0], torch.eye(4, dtype=d)", "m, m @ m.mT + 4 * torch.eye(4, dtype=d)", "m[0], scale_tril=torch.eye(4, dtype=d) * 2", "m[0], -torch.eye(4, dtype=d)"),
    "OneHotCategorical": ("p[0]", "logits=m", "probs=p[0, 0]", "probs=-p"),
    "Poisson": ("p[0, 0]", "2.0", "p", "v - 10"),
    "Uniform": ("v, v + 2", "0.0, 3.0", "v, 100.0", "v, v - 1"),
    "Binomial": ("5, u.abs()[0, 0]", "3, logits=v", "4, torch.tensor(0.3)", "2, v * 9"),
    "Cauchy": ("v, w.abs()", "0.0, 1.0", "v, 2.0", "v, -w.abs()"),
    "Chi2": ("p[0, 0]", "2.0", "p", "v - 10"),
    "ContinuousBernoulli": ("u.abs()[0, 0]", "0.3", "logits=v", "v * 9"),
    "FisherSnedecor": ("p[0, 0], p[0, 1]", "3.0, 5.0", "p[0], 2.0", "v - 10, v"),
    "GeneralizedPareto": ("v, p[0, 0], 0.3", "0.0, 1.0, -0.5", "v, 2.0, 0.0", "v, -2.0, 0.1"),
    "Gumbel": ("v, w.abs()", "0.0, 1.0", "v, 2.0", "v, -w.abs()"),
    "HalfCauchy": ("p[0, 0]", "2.0", "p", "v - 10"),
    "HalfNormal": ("p[0, 0]", "2.0", "p", "v - 10"),
    "InverseGamma": ("p[0, 0], p[0, 1]", "0.5, 2.0", "p[0], 2.0", "v - 10, v"),
    "Kumaraswamy": ("p[0, 0], 0.5", "0.5, 0.75", "0.7, p[0]", "v, v - 10"),
    "LKJCholesky": ("3, p[0, 0] + 1", "2, 1.5", "3, 4.0", "3, v - 10"),
    "LogisticNormal": ("v, w.abs()", "0.0, 1.0", "v, 2.0", "v, -w.abs()"),
    "LowRankMultivariateNormal": ("m[0], m.mT[:, :2], torch.ones(4, dtype=d)", "m, torch.ones(4, 1, dtype=d), torch.ones(4, dtype=d)", "m[0], torch.zeros(4, 1, dtype=d), torch.ones(4, dtype=d) * 2", "m[0], torch.ones(4, 1, dtype=d), -torch.ones(4, dtype=d)"),
    "MixtureSameFamily": ("torch.distributions.Categorical(p[0, 0]), torch.distributions.Normal(p[0, 0], 1.0)", "torch.distributions.Categorical(torch.ones(2)), torch.distributions.Uniform(torch.zeros(2), 1.0)", "torch.distributions.Categorical(p[0]), torch.distributions.Laplace(p[0], 1.0)", "torch.distributions.Normal(v, 1.0), torch.distributions.Normal(v, 1.0)"),
    "Multinomial": ("3, p[0]", "3, logits=m", "2, probs=p[0, 0]", "2, probs=-p"),
    "NegativeBinomial": ("5, u.abs()[0, 0] / 2", "3, logits=v / 4", "4, torch.tensor(0.3)", "2, v * 9"),
    "OneHotCategoricalStraightThrough": ("p[0]", "logits=m", "probs=p[0, 0]", "probs=-p"),
    "Pareto": ("p[0, 0], p[0, 1]", "1.0, 3.0", "p[0], 2.0", "v - 10, v"),
    "RelaxedBernoulli": ("torch.tensor(0.5), u.abs()[0, 0]", "torch.tensor(2.0), logits=v", "torch.tensor(1.0), 0.3", "torch.tensor(1.0), v * 9"),
    "RelaxedOneHotCategorical": ("torch.tensor(0.5), p[0]", "torch.tensor(2.0), logits=m", "torch.tensor(1.0), p[0, 0]", "torch.tensor(1.0), -p"),
    "StudentT": ("p[0, 0], v, w.abs()", "3.0", "p[0] + 2, 1.0", "v - 10"),
    "VonMises": ("v, w.abs()", "0.0, 1.0", "v, 2.0", "v, -w.abs()"),
    "Weibull": ("p[0, 0], p[0, 1]", "1.0, 3.0", "p[0], 2.0", "v - 10, v"),
    "Wishart": ("torch.tensor(5.0, dtype=d), torch.eye(4, dtype=d)", "7.0, m @ m.mT + 4 * torch.eye(4, dtype=d)", "6, scale_tril=torch.eye(4, dtype=d) * 2", "5.0, -torch.eye(4, dtype=d)"),
}  # fmt: skip
for name, arguments in DISTRIBUTIONS.items():
    made = [f"D = torch.distributions.{name}({a})" for a in arguments[:3]]
    of(
        f"distributions.{name}",
        *[f"{D}\n{e}" for D in made for e in ("D.sample()", "D.sample((2, 3))", "D.log_prob(D.sample())", "D.mean", "D.variance", "D.stddev", "D.entropy()", "D.batch_shape", "D.event_shape", "D.has_rsample", "D.mode", "D.expand((2,) + tuple(D.batch_shape)).sample()", "D.support", "D.log_prob('a')", "repr(D)", "D.rsample((2,))", "D.enumerate_support()", "D.cdf(D.sample() * 0.5)", "D.icdf(torch.full_like(D.mean, 0.3))", "D.param_shape if hasattr(D, 'param_shape') else 0", "D.log_prob(torch.full_like(D.sample(), -300.0))")],
        f"torch.distributions.{name}({arguments[3]})",
        f"torch.distributions.{name}({arguments[3]}, validate_args=False).batch_shape",
        f"torch.distributions.{name}()",
        f"torch.distributions.{name}('a')",
    )  # fmt: skip
of(
    "distributions.Distribution",
    "D = torch.distributions.Distribution()\nD.sample()",
    "torch.distributions.Distribution(validate_args=False).batch_shape",
    "torch.distributions.Distribution((2,), (3,)).event_shape",
    "isinstance(torch.distributions.Normal(v, 1.0), torch.distributions.Distribution)",
    "torch.distributions.Distribution(validate_args=False).mean",
    "torch.distributions.Distribution(validate_args=False).log_prob(x)",
    "torch.distributions.Distribution.has_rsample",
    "torch.distributions.Distribution(validate_args=False).entropy()",
    "torch.distributions.Distribution.set_default_validate_args('a')",
    "torch.distributions.Distribution(validate_args=False).rsample()",
    "torch.distributions.Distribution(validate_args=False).expand((2,))",
    "torch.distributions.Distribution(validate_args=False).has_enumerate_support",
)
of(
    "distributions.Independent",
    *[
        f"D = torch.distributions.Independent(torch.distributions.Normal(x, 2.0), {n})\n{e}"
        for n in (1, 2)
        for e in (
            "D.sample()",
            "D.log_prob(x)",
            "D.mean",
            "D.variance",
            "D.entropy()",
            "D.batch_shape",
            "D.event_shape",
            "D.rsample()",
            "repr(D)",
            "D.expand((2, 3, 4) if len(D.batch_shape) == 2 else (3,)).sample()",
        )
    ],
    "torch.distributions.Independent(torch.distributions.Normal(x, 2.0), 7)",
    "torch.distributions.Independent(torch.distributions.Normal(0.0, 1.0), 1)",
)
KL = {
    "Normal": "v, 1.0",
    "Bernoulli": "u.abs()[0, 0]",
    "Categorical": "p[0]",
    "Beta": "p[0], p[1]",
    "Dirichlet": "p[0]",
    "Exponential": "p[0]",
    "Gamma": "p[0], p[1]",
    "Geometric": "u.abs()[0, 0]",
    "Laplace": "v, 1.0",
    "Poisson": "p[0]",
    "Uniform": "v, v + 1",
    "MultivariateNormal": "m, torch.eye(4, dtype=d)",
    "OneHotCategorical": "p[0]",
    "LogNormal": "v, 1.0",
}
KL_OTHER = {
    **KL,
    "Normal": "w, 2.0",
    "Uniform": "v - 1, v + 3",
    "Bernoulli": "0.3",
    "Gamma": "2.0, 0.5",
    "Poisson": "2.0",
    "Exponential": "0.7",
    "Geometric": "0.2",
    "Laplace": "0.5, 2.0",
    "LogNormal": "0.5, 2.0",
    "Categorical": "torch.ones(5, dtype=d)",
}
of(
    "distributions.kl_divergence",
    *[
        f"torch.distributions.kl_divergence(torch.distributions.{n}({a}), torch.distributions.{n}({KL_OTHER[n]}))"
        for n, a in KL.items()
    ],
    "torch.distributions.kl_divergence(torch.distributions.Normal(v, 1.0), torch.distributions.Poisson(2.0))",
    "torch.distributions.kl_divergence(torch.distributions.Uniform(v, v + 1), torch.distributions.Normal(v, 1.0))",
    "torch.distributions.kl_divergence(1, 2)",
    "torch.distributions.kl_divergence(torch.distributions.Independent(torch.distributions.Normal(x, 1.0), 1), torch.distributions.Independent(torch.distributions.Normal(x + 1, 2.0), 1))",
)
of(
    "distributions.TransformedDistribution",
    *[
        f"D = torch.distributions.TransformedDistribution(torch.distributions.Normal(v, 1.0), {t})\n{e}"
        for t in (
            "[torch.distributions.transforms.ExpTransform()]",
            "torch.distributions.transforms.AffineTransform(v, 2.0)",
            "[torch.distributions.transforms.SigmoidTransform(), torch.distributions.transforms.AffineTransform(1.0, 2.0)]",
        )
        for e in (
            "D.sample()",
            "D.sample((2,))",
            "D.log_prob(D.sample())",
            "D.batch_shape",
            "D.rsample()",
            "D.cdf(D.sample())",
            "D.icdf(torch.full((5,), 0.3, dtype=d))",
            "D.has_rsample",
            "D.expand((3, 5)).sample()",
            "D.support",
            "D.mean",
        )
    ],
    "torch.distributions.TransformedDistribution(torch.distributions.Normal(v, 1.0), [3])",
)
of(
    "distributions.transforms",
    *[
        f"T = torch.distributions.transforms.{t}\n{e}"
        for t in (
            "ExpTransform()",
            "AffineTransform(1.0, 3.0)",
            "SigmoidTransform()",
            "TanhTransform()",
            "SoftmaxTransform()",
            "PowerTransform(torch.tensor(2.0))",
            "AbsTransform()",
            "ComposeTransform([torch.distributions.transforms.ExpTransform(), torch.distributions.transforms.AffineTransform(0.0, 2.0)])",
            "SoftplusTransform()",
            "StickBreakingTransform()",
            "LowerCholeskyTransform()",
            "IndependentTransform(torch.distributions.transforms.ExpTransform(), 1)",
            "ReshapeTransform((5,), (5, 1))",
        )
        for e in (
            "T(u)",
            "T.inv(u.abs() * 0.5)",
            "T.log_abs_det_jacobian(u, T(u))",
            "T.inv.inv is T",
            "T.bijective",
            "T.forward_shape((4, 4))",
            "repr(T)",
            "T.sign",
            "T == T",
        )
    ],
)

# ----------------------------------------------------------------------------------------- testing

of(
    "testing.assert_close",
    *[
        f"torch.testing.assert_close({a})"
        for a in (
            "x, x",
            "x, x + 1",
            "x, x.clone().float()",
            "x, y",
            "x, x.mT",
            "s, s",
            "[x, y], [x, y]",
            "{'a': x}, {'a': x}",
            "x, x * 1.00001",
            "x, x * 1.1, rtol=0.2, atol=0.1",
            "x, x * 1.1, rtol=0.2",
            "3, 3",
            "3.0, 3.0000001",
            "3, 4",
            "x, x.float(), check_dtype=False",
            "x * math.nan, x * math.nan",
            "x * math.nan, x * math.nan, equal_nan=True",
            "x, x.mT.contiguous().mT, check_stride=True",
            "x, 'a'",
            "x, x + 5, msg='oh'",
            "x, [1, 2]",
            "e, e",
            "None, None",
            "[x], [x, x]",
            "{'a': x}, {'b': x}",
        )
    ],
    "try:\n    torch.testing.assert_close(v, v + 1)\nexcept AssertionError as error:\n    said = str(error)\nsaid",
    "try:\n    torch.testing.assert_close(x, y)\nexcept AssertionError as error:\n    said = str(error)\nsaid",
    "try:\n    torch.testing.assert_close([x, v], [x, v + 1])\nexcept AssertionError as error:\n    said = str(error)\nsaid",
    "try:\n    torch.testing.assert_close(1.5, 2.5)\nexcept AssertionError as error:\n    said = str(error)\nsaid",
)
of(
    "testing.make_tensor",
    *[
        f"torch.testing.make_tensor({a})"
        for a in (
            "(2, 3), dtype=d, device='cpu'",
            "2, 3, dtype=d, device='cpu'",
            "(2, 3), dtype=d, device='cpu', low=1, high=2",
            "(2, 3), dtype=d, device='cpu', noncontiguous=True",
            "(2, 3), dtype=d, device='cpu', exclude_zero=True",
            "(2, 3), dtype=d, device='cpu', requires_grad=True",
            "(0, 3), dtype=d, device='cpu'",
            "(), dtype=d, device='cpu'",
            "(2,), dtype=d, device='cpu', low=5, high=2",
            "(2,), dtype=d",
            "(2, 3, 4, 5), dtype=d, device='cpu', memory_format=torch.channels_last",
        )
    ],
)

# ------------------------------------------------------------------------------------------- files

SAVE = "def through(value, **options):\n    file = io.BytesIO()\n    torch.save(value, file)\n    file.seek(0)\n    return torch.load(file, **options)"
of(
    "save load",
    "through(x)",
    "through([x, {'a': y, 3: (s, e)}])",
    "through(x[1:, 0])",
    "q = through([x, x[0]])\nq[1].zero_()\nq[0]",
    "through(f).requires_grad",
    "through(None)",
    "through(3.5)",
    "through('text')",
    "through(d)",
    "through(x.shape)",
    "through(b)",
    "through(x, map_location='cpu')",
    "through(x, weights_only=True)",
    "through({'a': [1, 2.5, None, True]})",
    "through(torch.nn.Parameter(f.detach()))",
    "through(torch.device('cpu'))",
    "torch.load(io.BytesIO(b'nonsense'))",
    "torch.load('/nowhere/at/all')",
    "torch.save(x)",
    "through(x.unsqueeze(0).expand(2, 3, 4, 5))",
    "through(x, map_location=lambda storage, place: storage)",
    "through(x, map_location={'cuda:0': 'cpu'})",
    "through(torch.nn.Linear(2, 2).state_dict()).keys() == {}.keys()",
    prepare=SAVE,
)
of(
    "serialization.add_safe_globals serialization.safe_globals",
    "through(x)",
    "with torch.serialization.safe_globals([set]):\n    q = through([x, {1, 2}])\nq",
    "with torch.serialization.safe_globals([np.ndarray]):\n    q = through(x)\nq",
    "torch.serialization.add_safe_globals([set])\nthrough([{1}, x])",
    "torch.serialization.add_safe_globals([])\nx",
    "torch.serialization.add_safe_globals(3)",
    "torch.serialization.safe_globals()",
    "torch.serialization.add_safe_globals()",
    "class Odd:\n    pass\nthrough(Odd)",
    prepare=SAVE,
)

# ----------------------------------------------------------------------------------------- devices

of(
    "cuda.is_available cuda.device_count accelerator.is_available accelerator.device_count accelerator.current_accelerator backends.cudnn.is_available backends.cudnn.version backends.cuda.is_built backends.mps.is_available backends.mps.is_built cuda.empty_cache",
    "torch.NAME(), x",
    "torch.NAME(1, 2, 3)",
    "type(torch.NAME()).__name__, x",
)
of(
    "cuda.current_device cuda.get_device_name cuda.synchronize cuda.get_device_capability cuda.is_bf16_supported",
    "torch.NAME(), x",
    "torch.NAME(0), x",
    "torch.NAME('cpu'), x",
    "torch.NAME(1, 2, 3), x",
)
of(
    "cuda.set_device cuda.get_device_properties",
    "torch.NAME(0), x",
    "torch.NAME(), x",
    "torch.NAME('cuda:1'), x",
    "torch.NAME(-1), x",
    "torch.NAME('cpu'), x",
)
of(
    "cuda.init cuda.is_initialized cuda.ipc_collect cuda.current_stream cuda.default_stream cuda.mem_get_info cuda.initial_seed cuda.get_rng_state cuda.get_per_process_memory_fraction cuda.is_tf32_supported cuda.get_arch_list cuda.seed cuda.seed_all cuda.get_rng_state_all cuda.memory_stats cuda.memory_stats_as_nested_dict cuda.memory_allocated cuda.max_memory_allocated cuda.memory_reserved cuda.max_memory_reserved cuda.memory_cached cuda.max_memory_cached cuda.Stream cuda.Event cuda.CUDAGraph cuda.graph_pool_handle cuda.is_current_stream_capturing",
    "torch.NAME(), x",
    "torch.NAME(1, 2, 3, 4, 5)",
    "torch.NAME(nothing=1)",
    "callable(torch.NAME), x",
)
of(
    "cuda.memory_summary cuda.reset_peak_memory_stats cuda.reset_accumulated_memory_stats cuda.reset_max_memory_allocated cuda.reset_max_memory_cached cuda.graph cuda.make_graphed_callables cuda.ExternalStream",
    "torch.NAME(1, 2, 3, 4, 5, 6, 7)",
    "torch.NAME(nothing=1)",
    "callable(torch.NAME), x",
)
of(
    "cuda.device cuda.device_of cuda.StreamContext cuda.stream cuda.set_stream cuda.can_device_access_peer cuda.set_per_process_memory_fraction cuda.set_rng_state cuda.set_rng_state_all",
    "torch.NAME(), x",
    "torch.NAME(1, 2, 3)",
    "callable(torch.NAME), x",
)
of("cuda.device", "torch.NAME('cpu')", "torch.NAME(-1).__enter__(), x", "torch.NAME(0).idx, x")
of("cuda.device_of", "torch.NAME(x).__enter__(), x", "torch.NAME(x).idx, x")
of(
    "cuda.stream cuda.StreamContext",
    "torch.NAME(None).__enter__(), x",
    "with torch.NAME(None):\n    x = x + 1\nx",
)
of("cuda.set_stream", "torch.NAME(None), x")
of("cuda.set_rng_state", "torch.NAME(torch.get_rng_state()), x")
of("cuda.set_rng_state_all", "torch.NAME([]), x")
of(
    "accelerator.current_device_idx accelerator.current_device_index accelerator.current_stream accelerator.empty_cache accelerator.get_device_capability accelerator.get_memory_info accelerator.max_memory_allocated accelerator.max_memory_reserved accelerator.memory_allocated accelerator.memory_reserved accelerator.memory_stats accelerator.reset_accumulated_memory_stats accelerator.reset_peak_memory_stats accelerator.synchronize",
    "torch.NAME(), x",
    "torch.NAME(1, 2, 3)",
    "callable(torch.NAME), x",
)
of(
    "accelerator.set_device_idx accelerator.set_device_index",
    "torch.NAME(0), x",
    "torch.NAME(), x",
    "callable(torch.NAME), x",
)
of("accelerator.set_stream", "torch.NAME(), x", "torch.NAME(1, 2), x", "callable(torch.NAME), x")
of(
    "accelerator.device_index",
    "torch.NAME(0).__enter__(), x",
    "torch.NAME(None).__enter__(), x",
    "with torch.NAME(None):\n    x = x + 1\nx",
)
of(
    "cuda.manual_seed cuda.manual_seed_all",
    "torch.NAME(3), x",
    "torch.NAME(-3), x",
    "torch.NAME(), x",
    "torch.NAME('a'), x",
    "torch.NAME(3)\ntorch.rand(2), x",
)
of(
    "cuda.OutOfMemoryError",
    "issubclass(torch.cuda.OutOfMemoryError, RuntimeError), x",
    "torch.cuda.OutOfMemoryError.__name__, x",
    "torch.cuda.OutOfMemoryError.__module__, x",
    "raise torch.cuda.OutOfMemoryError('no more')",
    "str(torch.cuda.OutOfMemoryError('no more')), x",
)
of(
    "backends.cuda backends.cudnn backends.mps backends.mkl backends.openmp",
    "type(torch.NAME).__name__, x",
    "hasattr(torch.NAME, 'is_available') or hasattr(torch.NAME, 'is_built'), x",
    "torch.NAME.is_available() in (True, False) if hasattr(torch.NAME, 'is_available') else 0, x",
    "torch.NAME.nothing",
)
for flag in ("benchmark", "deterministic", "enabled", "allow_tf32"):
    of(
        f"backends.cudnn.{flag}",
        "torch.NAME, x",
        "q = torch.NAME\ntorch.NAME = False\na = torch.NAME\ntorch.NAME = q\n[a, x]",
        "q = torch.NAME\ntorch.NAME = True\na = torch.NAME\ntorch.NAME = q\n[a, x]",
    )
of(
    "backends.cuda.matmul",
    "torch.NAME.allow_tf32, x",
    "q = torch.NAME.allow_tf32\ntorch.NAME.allow_tf32 = True\na = torch.NAME.allow_tf32\ntorch.NAME.allow_tf32 = q\n[a, x]",
    "torch.NAME.nothing",
    "torch.NAME.nothing = 1",
)
of("version.cuda version.hip", "torch.NAME, x", "torch.NAME is None, x")
of(
    "linalg.LinAlgError",
    "issubclass(torch.linalg.LinAlgError, RuntimeError), x",
    "torch.linalg.inv(torch.zeros(2, 2, dtype=d))",
    "torch.linalg.cholesky(-torch.eye(2, dtype=d))",
    "torch.linalg.LinAlgError.__name__, x",
    "torch.linalg.solve(torch.zeros(2, 2, dtype=d), torch.zeros(2, dtype=d))",
)
of(
    "linalg.matmul",
    "torch.linalg.matmul(m, n)",
    "torch.linalg.matmul(x, v)",
    "torch.linalg.matmul(m, y)",
    "torch.linalg.matmul(s, m)",
    "torch.linalg.matmul(m, n, out=torch.empty(0, dtype=d))",
)
of(
    "linalg.matrix_exp",
    "torch.linalg.matrix_exp(m)",
    "torch.linalg.matrix_exp(torch.stack([m, n]))",
    "torch.linalg.matrix_exp(x)",
    "torch.linalg.matrix_exp(v)",
    "torch.linalg.matrix_exp(m * 20)",
    "torch.linalg.matrix_exp(m * 1e-3)",
)
