FOUND = "grad.isfinite().all().logical_not()"
SCALED = "        grad.mul_(factor)\n"
LOOK = f"        found = found.maximum({FOUND})\n"
MUTANTS = {
    "a new tensor": ("grad.mul_(factor)", "grad = grad * factor"),
    "divides": ("grad.mul_(factor)", "grad.div_(factor) if factor else grad.mul_(factor)"),
    "nan is not seen": (FOUND, "(grad.abs() == float('inf')).any()"),
    "-inf is not seen": (FOUND, "(grad < float('inf')).all().logical_not()"),
    "looks at the sum, which may overflow": (FOUND, "grad.abs().sum().isfinite().logical_not()"),
    "all have to be inf": (FOUND, "grad.isfinite().any().logical_not()"),
    "the other way round": (FOUND, "grad.isfinite().all()"),
    "only finite ones are multiplied": (SCALED, f"        if not found:\n    {SCALED}"),
    "looks after it has multiplied": (LOOK + SCALED, SCALED + LOOK),
    "the last gradient decides": (f"found.maximum({FOUND})", f"{FOUND}.float()"),
    "counts the gradients with inf": (f"found.maximum({FOUND})", f"found + {FOUND}"),
    "ends at the first inf": (
        LOOK + SCALED,
        f"{LOOK}{SCALED}        if found:\n            break\n",
    ),
    "a bool of Python": ("return found", "return bool(found)"),
}
