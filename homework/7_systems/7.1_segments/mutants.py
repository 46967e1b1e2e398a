SIZE = "size = count // parts"
ROOT = 'max(1, round(count**0.5)) if segments == "sqrt"'
LAST = "last = Segment(size * (parts - 1), count, False)"
MUTANTS = {
    "the last one again": (LAST, LAST.replace("False", "True")),
    "the rest is left out": (LAST, LAST.replace("count, False", "size * parts, False")),
    "sizes rounded up": (SIZE, "size = -(-count // parts)"),
    "the root rounded down": (ROOT, ROOT.replace("round(", "int(")),
    "as many functions as the root asks": (
        "starts = range(0, size * (parts - 1), size)",
        "starts = range(0, count - size, size)",
    ),
    "any number is taken": ("if not 1 <= parts <= count:", "if parts == 0:"),
    "none are recorded": (
        "Segment(start, start + size, True)",
        "Segment(start, start + size, False)",
    ),
}
