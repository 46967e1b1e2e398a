"""Samples of automatic mixed precision: torch.amp, the settings of autocast, and GradScaler."""

# ruff: noqa: E501 -- a sample is one string

from sweeps.sweep_cases import of

WITH = 'with {}("cpu"{}):\n    R = {}\nR'
PRODUCTS = (
    "m @ n",
    "m.mm(n)",
    "F.linear(y, x[0])",
    "F.mse_loss(m, n)",
    "x + y",
    "torch.cat((m, m))",
    "m.exp()",
    "F.layer_norm(x, (5,))",
    "m.float() @ n",
    "m.sum()",
    "[m @ n, R.sum()] if (R := m @ n) is not None else 0",
)
for name in ("torch.autocast", "torch.amp.autocast"):
    of(name.removeprefix("torch."), *[WITH.format(name, "", e) for e in PRODUCTS])
    of(
        name.removeprefix("torch."),
        *[
            WITH.format(name, f", {rest}", "m @ n")
            for rest in (
                "torch.float16",
                "dtype=torch.float32",
                "enabled=False",
                "cache_enabled=False",
            )
        ],
        f"{name}(3)",
        f"{name}('meta')",
        f"{name}('cpu')(3)",
    )
of(
    "cpu.amp.autocast",
    *[
        f"with torch.NAME({a}):\n    R = m @ n\nR"
        for a in (
            "",
            "True",
            "False",
            "dtype=torch.float16",
            "enabled=True, cache_enabled=False",
            "3, 4, 5, 6",
            "device=2",
            "True, torch.bfloat16",
            "False, torch.float16",
            "enabled=False",
            "dtype=torch.float32",
        )
    ],
)
of(
    "cuda.amp.autocast",
    *[
        f"with torch.NAME({a}):\n    R = m @ n\nR"
        for a in (
            "",
            "True",
            "False",
            "dtype=torch.bfloat16",
            "enabled=True, cache_enabled=False",
            "3, 4, 5, 6",
            "device=2",
            "True, torch.bfloat16",
            "False, torch.float16",
            "enabled=False",
        )
    ],
)

SETTINGS = (
    "torch.NAME()",
    "torch.NAME('cpu')",
    "torch.NAME('cuda')",
    "torch.NAME('meta')",
    "torch.NAME(3)",
    "torch.NAME(x)",
    "torch.NAME('cpu', 3)",
    "torch.NAME(None)",
    "with torch.autocast('cpu', torch.float16):\n    R = torch.NAME('cpu')\nR",
    "with torch.autocast('cpu', enabled=False):\n    R = torch.NAME('cpu')\nR",
)
of("is_autocast_enabled get_autocast_dtype amp.is_autocast_available", *SETTINGS)

# Each sample leaves the settings as it found them: autocast restores them.
HELD = "with torch.autocast('cpu', enabled=False):\n    {}\n    R = [torch.is_autocast_enabled('cpu'), str(torch.get_autocast_dtype('cpu')), torch.is_autocast_cache_enabled(), torch.mm(m, n)]\nR"


def held(names: str, *arguments: str) -> None:
    of(names, *[HELD.format(f"R = torch.NAME({a})") for a in arguments])


held(
    "set_autocast_enabled",
    "'cpu', True",
    "'cpu', False",
    "'meta', True",
    "'cpu', 1",
    "3",
    "",
    "'cpu'",
    "x, True",
    "'cpu', None",
    "device_type='cpu', enabled=True",
)
held(
    "set_autocast_dtype",
    "'cpu', torch.float16",
    "'cpu', d",
    "'cpu', 3",
    "3, d",
    "",
    "'cpu'",
    "x, d",
    "'nope', d",
    "device_type='cpu', dtype=torch.float16",
    "'cpu', None",
)
held(
    "set_autocast_cpu_enabled set_autocast_cache_enabled",
    "True",
    "False",
    "3",
    "",
    "None",
    "'cpu'",
    "x",
    "True, 3",
    "enabled=3",
    "[]",
)
held(
    "set_autocast_cpu_dtype",
    "torch.float16",
    "torch.bfloat16",
    "d",
    "3",
    "",
    "None",
    "'cpu'",
    "x",
    "d, 3",
    "[]",
)
held(
    "set_autocast_gpu_dtype",
    "torch.float16",
    "3",
    "",
    "None",
    "'cpu'",
    "x",
    "torch.float16, 3",
    "[]",
    "1.5",
    "True",
)
held(
    "autocast_increment_nesting autocast_decrement_nesting clear_autocast_cache is_autocast_cpu_enabled get_autocast_cpu_dtype get_autocast_gpu_dtype is_autocast_cache_enabled",
    "",
    "3",
    "x",
    "None",
    "'cpu'",
    "d",
    "[]",
    "1.5",
    "True",
    "m, n",
)
for name in (
    "autocast_increment_nesting",
    "autocast_decrement_nesting",
):  # a pair, so that none is left
    of(name, "A = torch.autocast_increment_nesting()\n[A, torch.autocast_decrement_nesting()]")

MADE = "q = torch.tensor([1.0, 2.0], requires_grad=True)\nO = torch.optim.SGD([q], lr=0.5)\nS = torch.amp.GradScaler('cpu', init_scale=8.0, growth_interval=2)\n"
ONE = "O.zero_grad()\nS.scale((q * q).sum()).backward()\n"
STEP = ONE + "S.step(O)\nS.update()\n"
BAD = ONE + "q.grad[0] = float('inf')\nS.step(O)\nS.update()\n"
STATE = "[q.detach(), q.grad, S.state_dict(), S.is_enabled(), S.get_scale()]"
for name, calls in {
    "scale": ("S.scale(q)", "S.scale([q, (q, q)])", "S.scale(3)", "S.scale(q.double())", "list(S.scale(a for a in (q, q)))", "S.scale('ab')", "S.scale()", "S.scale(None)", "S.scale(outputs=q)", "S.scale([])", "S.scale([3])"),
    "step": (STEP + "0", BAD + "0", STEP + STEP + "0", ONE + "S.step(O, closure=lambda: 0)", ONE + "S.step(O)\nS.step(O)", "S.step(O)", "S.step()", "S.step(3)", ONE + "S.step(3)", ONE + "S.unscale_(O)\nS.step(O)"),
    "unscale_": (ONE + "S.unscale_(O)", ONE + "S.unscale_(O)\nS.unscale_(O)", ONE + "S.step(O)\nS.unscale_(O)", "S.unscale_(O)", "S.unscale_()", ONE + "S.unscale_(3)", ONE + "q.grad[1] = float('nan')\nS.unscale_(O)", STEP + ONE + "S.unscale_(O)", BAD + ONE + "S.unscale_(O)", ONE + "S.unscale_(optimizer=O)"),
    "update": (STEP + "0", BAD + "0", BAD + STEP + STEP + STEP + "0", "S.update()", ONE + "S.update()", ONE + "S.update(3.0)", ONE + "S.update(torch.tensor(2.0))", ONE + "S.update(torch.ones(2))", ONE + "S.update(3)", ONE + "S.update(q[:1])", ONE + "S.update(new_scale=0.5)"),
}.items():  # fmt: skip
    of(
        f"amp.GradScaler.{name}",
        *[f"{MADE}{call}" for call in calls],
        *[
            f"{MADE}R = None\ntry:\n    R = {call.splitlines()[-1]}\nexcept (AssertionError, RuntimeError) as error:\n    R = type(error).__name__\n[R, {STATE}]"
            for call in calls[:4]
        ],
    )
READS = (
    "",
    STEP,
    STEP + STEP,
    BAD,
    BAD + BAD,
    STEP + BAD,
    BAD + STEP + STEP + STEP,
    ONE,
    "S.update(3.0)\n",
    "S.scale(q)\n",
)
for name in (
    "get_scale",
    "get_growth_factor",
    "get_backoff_factor",
    "get_growth_interval",
    "is_enabled",
    "state_dict",
):
    of(
        f"amp.GradScaler.{name}",
        *[f"{MADE}{reads}S.{name}()" for reads in READS],
        f"{MADE}S.{name}(3)",
    )
for name in ("set_growth_factor", "set_backoff_factor", "set_growth_interval"):
    of(
        f"amp.GradScaler.{name}",
        *[f"{MADE}S.{name}({a})\n{rest}{STATE}" for a in ("3", "1") for rest in READS[:7]],
        f"{MADE}S.{name}()",
    )
LOADED = "{'scale': 3.0, 'growth_factor': 4.0, 'backoff_factor': 0.25, 'growth_interval': 5, '_growth_tracker': 1}"
of(
    "amp.GradScaler.load_state_dict",
    *[f"{MADE}{reads}S.load_state_dict({LOADED})\n{STATE}" for reads in READS[:8]],
    f"{MADE}S.load_state_dict({{}})",
    f"{MADE}S.load_state_dict(3)",
    f"{MADE}S.load_state_dict({{'scale': 3.0}})",
)
MAKES = (
    "'cpu'",
    "'cpu', 8.0",
    "'cpu', 8.0, 1.0",
    "'cpu', 8.0, 2.0, 1.0",
    "'cpu', enabled=False",
    "'cuda'",
    "",
    "'cpu', growth_interval=3",
    "'cpu', growth_factor=0.5",
    "'cpu', nothing=3",
    "enabled=False",
)
of(
    "GradScaler amp.GradScaler",
    *[f"S = torch.NAME({a})\n[S.state_dict(), S.is_enabled(), S.get_scale()]" for a in MAKES],
)
of(
    "cpu.amp.GradScaler cuda.amp.GradScaler",
    *[
        f"S = torch.NAME({a})\n[S.state_dict(), S.is_enabled(), S.get_scale()]"
        for a in (
            "",
            "8.0",
            "8.0, 1.0",
            "8.0, 2.0, 1.0",
            "enabled=False",
            "growth_interval=3",
            "growth_factor=0.5",
            "nothing=3",
            "init_scale=4.0",
            "4.0, 3.0, 0.25, 7, True",
        )
    ],
)

FUNCTION = "class Product(torch.autograd.Function):\n    @staticmethod\n    @{forward}\n    def forward(ctx, a, b):\n        ctx.save_for_backward(a, b)\n        return a.mm(b)\n    @staticmethod\n    @{backward}\n    def backward(ctx, grad):\n        a, b = ctx.saved_tensors\n        return grad.mm(b.t()), a.t().mm(grad)\nq = m.clone().float().requires_grad_()\nwith torch.autocast('cpu'{enabled}):\n    R = Product.apply(q, n.float())\nR.float().sum().backward()\n[R, q.grad]"
for forward in (
    "device_type='cpu'",
    "device_type='cpu', cast_inputs=torch.float32",
    "device_type='cpu', cast_inputs=torch.float16",
    "device_type='cuda'",
):
    for enabled in ("", ", enabled=False", ", dtype=torch.float16"):
        of(
            "amp.custom_fwd amp.custom_bwd",
            FUNCTION.format(
                forward=f"torch.amp.custom_fwd({forward})",
                backward=f"torch.amp.custom_bwd({forward.split(',')[0]})",
                enabled=enabled,
            ),
        )
of(
    "amp.custom_fwd amp.custom_bwd",
    "torch.NAME(device_type=3)",
    "torch.NAME()",
    "torch.NAME('cpu')",
)
for enabled in ("", ", enabled=False", ", dtype=torch.float16"):
    for cast in (
        "",
        "(cast_inputs=torch.float32)",
        "(cast_inputs=torch.float16)",
        "(cast_inputs=None)",
    ):
        of(
            "cuda.amp.custom_fwd cuda.amp.custom_bwd",
            FUNCTION.format(
                forward=f"torch.cuda.amp.custom_fwd{cast}",
                backward="torch.cuda.amp.custom_bwd",
                enabled=enabled,
            ),
        )
of(
    "cuda.amp.amp_definitely_not_available",
    "torch.NAME()",
    *[f"torch.NAME({a})" for a in ("3", "x", "None", "'cpu'", "d", "[]", "1.5", "True", "m, n")],
)
