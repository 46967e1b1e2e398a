JOINED = "old[d - 1] == 1 or old_strides[d - 1] == run * step"
MUTANTS = {
    "all dims are one run": (JOINED, "True"),
    "no dims are one run": (JOINED, "False"),
    "dims of 1 break runs": (JOINED, "old_strides[d - 1] == run * step"),
    "runs found by steps of 1": (JOINED, "old[d - 1] == 1 or old_strides[d - 1] == run"),
    "a dim's own size, not the run's": (
        JOINED,
        "old[d - 1] == 1 or old_strides[d - 1] == old[d]",
    ),
    "contiguous strides": ("strides[to] = made * step", "strides[to] = made"),
    "the step of a run for all its dims": ("strides[to] = made * step", "strides[to] = step"),
    "a dim may reach into the next run": ("if made != run:", "if False:"),
    "the step of the last run": ("step = old_strides[d - 1]\n", "pass\n"),
    "views of contiguous arrays only": (
        "strides = [1] * len(shape)",
        "if tuple(old_strides) != contiguous_strides(old):\n        return None\n"
        "    strides = [1] * len(shape)",
    ),
    "only the size counts for no elements": (
        "if 0 in old:",
        "if 0 in old:\n        return None\n    if 0 in old:",
    ),
}
