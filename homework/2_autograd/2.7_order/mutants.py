SORTED = "order.sort(key=by_sequence, reverse=True)"
COUNT = "waiting[target] = waiting.get(target, 0) + 1"
ROOTS = "edges = list(roots)"
MUTANTS = {
    "as they are found": (SORTED, "pass"),
    "the oldest first": (SORTED, "order.sort(key=by_sequence)"),
    "nodes come twice": ("elif target not in seen:", "else:"),
    "a leaf counts once": (COUNT, "waiting[target] = 1"),
    "roots that are leaves are left out": (
        ROOTS,
        "edges = [edge for edge in roots if isinstance(edge[0], Node)]",
    ),
    "edges without a target": ("filter(None, target.edges)", "target.edges"),
    "inputs only, not their inputs": ("for target, _ in edges:", "for target, _ in edges[:]:"),
}
