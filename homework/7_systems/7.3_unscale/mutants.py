FOUND = "found_inf = not grad.isfinite().all()"
SCALED = "    if factor != 1:\n        grad.mul_(factor)\n"
MUTANTS = {
    "a new tensor": ("grad.mul_(factor)", "grad = grad * factor"),
    "divides": ("grad.mul_(factor)", "grad.div_(factor) if factor else grad.mul_(factor)"),
    "nan is not seen": (FOUND, "found_inf = bool((grad.abs() == float('inf')).any())"),
    "-inf is not seen": (FOUND, "found_inf = not (grad < float('inf')).all()"),
    "looks at the sum, which may overflow": (FOUND, "found_inf = not grad.abs().sum().isfinite()"),
    "all have to be inf": (FOUND, "found_inf = not grad.isfinite().any() and grad.numel() > 0"),
    "the other way round": (FOUND, "found_inf = bool(grad.isfinite().all())"),
    "only finite ones are multiplied": (
        SCALED,
        "    if factor != 1 and not found_inf:\n        grad.mul_(factor)\n",
    ),
    "looks after it has multiplied": (
        f"    {FOUND}\n{SCALED}",
        f"    grad.mul_(factor)\n    {FOUND}\n",
    ),
}
