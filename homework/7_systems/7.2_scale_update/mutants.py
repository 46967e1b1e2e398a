GROWN = "(scale * growth if scale * growth <= LARGEST else scale), 0"
MUTANTS = {
    "inf does not shrink it": ("scale * backoff, 0", "scale, 0"),
    "inf makes it grow": ("scale * backoff, 0", "scale * growth, 0"),
    "inf does not count anew": ("scale * backoff, 0", "scale * backoff, steps"),
    "a step late": ("if steps + 1 != interval", "if steps != interval"),
    "it grows with each step from then on": (GROWN, GROWN[:-1] + "steps + 1"),
    "it becomes inf": (GROWN, "scale * growth, 0"),
    "it stays, and counts on": (
        GROWN,
        "(scale * growth, 0) if scale * growth <= LARGEST else (scale, steps + 1)",
    ),
}
