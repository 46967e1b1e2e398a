INSIDE = "inside = len(readers[given]) == 1 and given not in outputs"
BOTH = "if inside and op in ELEMENTWISE and ops[given] in ELEMENTWISE:"
MUTANTS = {
    "readers do not matter": (INSIDE, "inside = given not in outputs"),
    "outputs do not matter": (INSIDE, "inside = len(readers[given]) == 1"),
    "any op may read": (BOTH, "if inside and ops[given] in ELEMENTWISE:"),
    "any op may be read": (BOTH, "if inside and op in ELEMENTWISE:"),
    "one reader twice is two": (
        INSIDE,
        "inside = sum(i.count(given) for _, _, i in nodes) == 1 and given not in outputs",
    ),
    "only the first input": (
        "for given in set(inputs) & set(groups):",
        "for given in set(inputs[:1]) & set(groups):",
    ),
    "only pairs": (BOTH, BOTH.replace("if inside", "if inside and len(groups[given]) == 1")),
    "nodes as they come": (
        "        groups[name].sort(key=lambda name: order[name])\n",
        "        groups[name].append(groups[name].pop(0))\n",
    ),
    "nodes in another order": (
        "groups[name].sort(key=lambda name: order[name])",
        "groups[name].reverse()",
    ),
    "kernels by their first nodes": (
        "return list(groups.values())",
        "return sorted(groups.values(), key=lambda group: order[group[0]])",
    ),
}
