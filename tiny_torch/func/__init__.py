"""torch.func: functions of tensors made to other functions of tensors.

https://pytorch.org/docs/stable/func.html
"""

from tiny_torch.func.functional_call import functional_call
from tiny_torch.func.mapping import stack_module_state, vmap
from tiny_torch.func.transforms import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
)

__all__ = [
    "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "stack_module_state", "vjp", "vmap",
]  # fmt: skip
