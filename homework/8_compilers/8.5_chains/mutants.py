LENGTH = """    if prod(shape) != prod(other_shape):
        return False
"""
SEEN = "if one != two and not set(one).isdisjoint(two):"
READS = "if a[0] != b[0] or (k > 0 and m > 0):  # two reads"
MUTANTS = {
    "no chains": ("if chains and all(", "if False and all("),
    "only with the last of a chain": (
        "all(may_join(other, launch) for other in chains[-1])",
        "may_join(chains[-1][-1], launch)",
    ),
    "only with the first of a chain": (
        "all(may_join(other, launch) for other in chains[-1])",
        "may_join(chains[-1][0], launch)",
    ),
    "all elementwise launches join": (SEEN, "if False:"),
    "another length joins": (LENGTH, ""),
    "another shape does not join": (LENGTH, LENGTH.replace("prod", "tuple")),
    "reads have to be alike": (READS, READS.replace(" or (k > 0 and m > 0)", "")),
    "only what is written, then read": (READS, READS.replace("k > 0 and m > 0", "k > 0")),
    "only results are compared with results": (
        READS,
        READS.replace("k > 0 and m > 0", "k > 0 or m > 0"),
    ),
    "buffers have to be others, or views the same": (
        SEEN,
        "if one != two:",
    ),
    "offsets do not matter": (SEEN, "if a[2] != b[2]:"),
    "as many positions in common": (SEEN, "if sorted(one) != sorted(two):"),
    "all results are written": ("if here[0][0] in needed:", "if True:"),
    "only what is held is written": ("read_later.union(held)", "set(held)"),
    "what is read at all is written": (
        "for other in chains[k + 1 :] for launch",
        "for other in chains for launch",
    ),
    "what is written behind the chain is written": (
        "(_, *inputs) in behind for name, _, _ in inputs",
        "inputs in behind for name, _, _ in inputs",
    ),
    "each launch reads anew": ("if key not in near:", "if True:"),
    "what is written over is not seen": (
        "            near[keys[0]] = ",
        "            near[keys[0]] = near[keys[0]] if keys[0] in near else ",
    ),
    "a buffer has one place": (
        "keys = [(name, tuple(place)) for name, place in here]",
        "keys = [(name, ()) for name, place in here]",
    ),
    "the last block is left out": (
        "range(0, len(places[0][0][1]), BLOCK)",
        "range(0, len(places[0][0][1]) // BLOCK * BLOCK, BLOCK)",
    ),
    "whole arrays": ("BLOCK = 64", "BLOCK = 1 << 20"),
}
