"""How PyTorch has a function, from C++ or from Python, and whom it asks: autograd/overrides.py."""

from __future__ import annotations

from typing import Any

from tiny_torch import _core

# These are Python in PyTorch, without that parser.
PYTHON = {"norm", "split", "unique", "unique_consecutive"}
PYTHON |= {f"Tensor.{name}" for name in PYTHON} | {"Tensor.unflatten"}
# What PyTorch has from Python: classes take these as methods, and handlers of __torch_function__
# see their defaults.
IN_PYTHON: set[Any] = {("tiny_torch", name) for name in PYTHON - {"Tensor.unflatten"}}
SPECIAL = """
    array array_wrap contains deepcopy dlpack dlpack_device format len repr reduce_ex reversed
    setstate floordiv ipow pow rfloordiv rlshift rmatmul rmod rpow rrshift rsub rtruediv
"""
IN_PYTHON |= {"tiny_torch.nn.init", "tiny_torch.nn.utils.convert_parameters"}
IN_PYTHON |= {
    ("tiny_torch", name)
    for name in (
        *("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors"),
        *("cartesian_prod", "cdist", "chain_matmul", "einsum", "lu", "meshgrid", "tensordot"),
        *("unravel_index", "Tensor.backward", "Tensor.is_shared", "Tensor.lu"),
        *("Tensor.register_hook", "Tensor.register_post_accumulate_grad_hook"),
        *("Tensor.share_memory_", "Tensor.storage"),
        *(f"Tensor.__{name}__" for name in SPECIAL.split()),
    )
}
# Functions, by name or by module, that ask nobody for a __torch_function__, or modes alone.
ASK_NOBODY = {"from_numpy", "from_dlpack", "broadcast_shapes", "Tensor.as_subclass"} | {
    f"tiny_torch.{name}"
    for name in (
        *("amp.state", "base.devices", "base.layouts", "base.switches"),
        "functions.random.generator",
    )
}
ASK_MODES = {"tensor", "as_tensor", "asarray", "frombuffer"}
# What C++ answers before the method is called, as `quick` of autograd/apply.py has it.
QUICK: dict[str, tuple] = {
    **dict.fromkeys(("Tensor.dim", "Tensor.ndimension"), (_core.dim_of, 1, 2)),
    **dict.fromkeys(("Tensor.numel", "Tensor.nelement"), (_core.numel_of, 1, 2)),
    "Tensor.size": (_core.length_of, 2, 2),
    "Tensor.element_size": (_core.element_size_of, 1, 2),
    "Tensor.is_contiguous": (_core.is_contiguous_of, 1, 2),
    "Tensor.is_floating_point": (_core.is_floating_point_of, 1, 2),
    "Tensor.detach": (_core.detached, 1, 2),
    "Tensor.item": (_core.item_of, 1, 2),
}
UNASKED = {"__new__", "__init__", "__hash__", "__iter__", "__dir__", "_number"}
# {operator: the method that stands for it, or ""}
OPERATORS = {
    **{"abs": "abs", "neg": "neg", "pos": "positive"},
    **dict.fromkeys(("add", "radd"), "add"),
    **dict.fromkeys(("mul", "rmul"), "mul"),
    **{"sub": "sub", "truediv": "div", "mod": "remainder", "matmul": "matmul"},
    **{"iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_"},
    **{"ifloordiv": "floor_divide_", "imod": "remainder_"},
    **{name: name for name in ("ne", "lt", "le", "gt", "ge")},
    **dict.fromkeys(("eq", "and", "or", "xor", "lshift", "rshift", "rand", "ror", "rxor"), ""),
    **dict.fromkeys(("floordiv", "rfloordiv", "pow", "rpow", "ipow", "rsub", "rtruediv"), ""),
    **dict.fromkeys(("rmod", "rmatmul", "rlshift", "rrshift"), ""),
}
