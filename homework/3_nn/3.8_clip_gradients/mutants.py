TOTAL = "total = _norm_over_ranks(grads, owners, norm_type, error_if_nonfinite, foreach)"
SCALE = "_scale(grads, max_norm, total, foreach)"
MUTANTS = {
    "each by itself": (
        SCALE,
        "for g in grads: _scale([g], max_norm, norm_here([g], norm_type, False, None), None)",
    ),
    "grows, too": (SCALE, "for g in grads: g.mul_(float(max_norm) / (total + 1e-6))"),
    "new gradients": (
        SCALE,
        "f = torch.clamp(max_norm / (total + 1e-6), max=1.0)\n"
        "    for p in parameters if isinstance(parameters, list) else [parameters]:\n"
        "        p.grad = None if p.grad is None else p.grad * f",
    ),
    "not scaled": (SCALE, "pass"),
    "the norm afterwards": ("return total", "return norm_here(grads, norm_type, False, foreach)"),
    "always the second power": (TOTAL, TOTAL.replace("norm_type", "2.0")),
    "never an error": (TOTAL, TOTAL.replace("error_if_nonfinite", "False")),
    "always an error": (TOTAL, TOTAL.replace("error_if_nonfinite", "True")),
    "norms added up": (
        TOTAL,
        "total = sum(norm_here([g], norm_type, error_if_nonfinite, foreach) for g in grads)",
    ),
    "the last one is left out": (SCALE, "_scale(grads[:-1], max_norm, total, foreach)"),
}
