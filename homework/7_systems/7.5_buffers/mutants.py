TOGETHER = "if buffers[j][1] <= last and first <= buffers[j][2]"
MUTANTS = {
    "all at the same time": (TOGETHER, "if True"),
    "the last step does not count": (TOGETHER, TOGETHER.replace("<=", "<")),
    "only those that begin before": (TOGETHER, "if buffers[j][1] <= first <= buffers[j][2]"),
    "in the order of the list": ("key=lambda k: -buffers[k][0]", "key=lambda k: k"),
    "the smallest first": ("-buffers[k][0]", "buffers[k][0]"),
    "by time": ("-buffers[k][0]", "buffers[k][1]"),
    "above all others": ("            if offset + size <= start:\n                break\n", ""),
    "any gap will do": ("if offset + size <= start:", "if offset < start:"),
    "the next one may lie lower": ("max(offset, stop)", "stop"),
    "the offsets in the order of size": (
        "[offsets[k] for k in range(len(buffers))]",
        "list(offsets.values())",
    ),
}
