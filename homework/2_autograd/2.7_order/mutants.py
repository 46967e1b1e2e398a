SORTED = "order.sort(key=by_sequence, reverse=True)"
SEEN = """                if target not in seen:
                    seen.add(target)
                    order.append(target)
            else:
                waiting[target] = waiting.get(target, 0) + 1
    order.sort"""
ROOT = """        else:
            waiting[target] = waiting.get(target, 0) + 1
    for node"""
MUTANTS = {
    "as they are found": (SORTED, "pass"),
    "the oldest first": (SORTED, "order.sort(key=by_sequence)"),
    "nodes come twice": (SEEN, SEEN.replace("if target not in seen", "if True")),
    "a leaf counts once": (SEEN, SEEN.replace("waiting.get(target, 0) + 1", "1")),
    "roots that are leaves are left out": (ROOT, ROOT.replace("waiting.get(target, 0) + 1", "0")),
    "edges without a target": ("if edge is None:", "if edge is False:"),
    "inputs only, not their inputs": ("for node in order:", "for node in order[:]:"),
}
