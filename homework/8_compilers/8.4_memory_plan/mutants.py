OVER = "over = first[new] == t == last[old] and sizes[old] == sizes[new]"
ALIVE = "if first[other] <= ends[head] and first[head] <= ends[other]"
LARGEST = "heads = sorted(set(block), key=lambda head: -sizes[head])"
ROUND = "    size = (size + UNIT - 1) // UNIT * UNIT\n"
MUTANTS = {
    "all buffers one behind the other": (ALIVE, ALIVE.replace("if ", "if True or ")),
    "a read and a write of one launch, one place": (ALIVE, ALIVE.replace("<=", "<")),
    "a block dies with its first buffer": (
        "        ends[head] = max(ends[head], last[buffer])\n",
        "        ends[head] = ends[head]\n",
    ),
    "as they come": (LARGEST, "heads = sorted(set(block), key=lambda head: first[head])"),
    "the smallest first": (LARGEST, LARGEST.replace("-sizes", "sizes")),
    "on top of all that live": (
        "        if offset + size <= begin:\n            break\n",
        "",
    ),
    "any gap": ("if offset + size <= begin:", "if offset < begin:"),
    "the end of the last one below": ("offset = max(offset, end)", "offset = end"),
    "sizes as they are": (ROUND, ""),
    "rounded down": (ROUND, ROUND.replace(" + UNIT - 1", "")),
    "never in place": (OVER, "over = False"),
    "any launch in place": ("in writes if elementwise else ():", "in writes:"),
    "in place of what is read later": (OVER, OVER.replace(" == last[old]", "")),
    "in place of another size": (OVER, OVER.replace(" == sizes[new]", " >= sizes[new]")),
    "two in one place": ("if over and old not in taken:", "if over:"),
    "only the first read": ("for old in reads:", "for old in reads[:1]:"),
    "what is kept dies": ("    last.update(dict.fromkeys(kept, len(launches)))\n", ""),
    "what nobody reads has no life": (
        "last[buffer] = t\n",
        "last[buffer] = t if buffer in reads else last.get(buffer, -1)\n",
    ),
}
