"""Samples of automatic mixed precision: torch.amp, the settings of autocast, and GradScaler."""

# ruff: noqa: E501 -- a sample is one string

from sweep_cases import of

WITH = 'with {}("cpu"{}):\n    R = {}\nR'
PRODUCTS = ("m @ n", "m.mm(n)", "F.linear(y, x[0])", "F.mse_loss(m, n)", "x + y", "torch.cat((m, m))", "m.exp()", "F.layer_norm(x, (5,))", "m.float() @ n", "m.sum()", "[m @ n, R.sum()] if (R := m @ n) is not None else 0")
for name in ("torch.autocast", "torch.amp.autocast"):
    of(name.removeprefix("torch."), *[WITH.format(name, "", e) for e in PRODUCTS])
    of(name.removeprefix("torch."), *[WITH.format(name, f", {rest}", "m @ n") for rest in ("torch.float16", "dtype=torch.float32", "enabled=False", "cache_enabled=False")], f"{name}(3)", f"{name}('meta')", f"{name}('cpu')(3)")
of("cpu.amp.autocast", *[f"with torch.NAME({a}):\n    R = m @ n\nR" for a in ("", "True", "False", "dtype=torch.float16", "enabled=True, cache_enabled=False", "3, 4, 5, 6", "device=2", "True, torch.bfloat16", "False, torch.float16", "enabled=False", "dtype=torch.float32")])
of("cuda.amp.autocast", *[f"with torch.NAME({a}):\n    R = m @ n\nR" for a in ("", "True", "False", "dtype=torch.bfloat16", "enabled=True, cache_enabled=False", "3, 4, 5, 6", "device=2", "True, torch.bfloat16", "False, torch.float16", "enabled=False")])

SETTINGS = ("torch.NAME()", "torch.NAME('cpu')", "torch.NAME('cuda')", "torch.NAME('meta')", "torch.NAME(3)", "torch.NAME(x)", "torch.NAME('cpu', 3)", "torch.NAME(None)", "with torch.autocast('cpu', torch.float16):\n    R = torch.NAME('cpu')\nR", "with torch.autocast('cpu', enabled=False):\n    R = torch.NAME('cpu')\nR")
of("is_autocast_enabled get_autocast_dtype amp.is_autocast_available", *SETTINGS)
