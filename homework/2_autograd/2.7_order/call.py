from tiny_torch import zeros
from tiny_torch.autograd.engine import Run
from tiny_torch.autograd.graph import Identity, Node

SHOWN = 40  # of a deep graph, the last


def call(student, leaves, nodes, deep, roots):
    made = {name: zeros(1, requires_grad=True) for name in leaves}

    def edge(name):
        return None if name is None else (made[name], 0)

    for name, inputs in nodes.items():
        made[name] = Node(Identity, tuple(edge(x) for x in inputs), ())
    names = {id(x): name for name, x in made.items()}
    ends = [edge(name) for name in roots]
    kept = []  # so that no id comes twice
    for i in range(deep):
        kept.append(Node(Identity, tuple(ends), ()))
        names[id(kept[-1])] = f"deep {i}"
        ends = [(kept[-1], 0)]
    run = Run(False, False, None, True)
    order = student(run, ends)
    if not isinstance(order, list):
        return f"a {type(order).__name__}"
    found = [names.get(id(x), "?") for x in order]
    waiting = {names.get(id(x), "?"): n for x, n in run.waiting.items()}
    return {"order": found[-SHOWN:], "how many nodes": len(found), "waiting": waiting}
