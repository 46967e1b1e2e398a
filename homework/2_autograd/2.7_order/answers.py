SHOWN = 40


def cases(rng):
    def case(nodes, roots, leaves=("x",), deep=0):
        return {"leaves": leaves, "nodes": nodes, "deep": deep, "roots": roots}

    yield "one op", case({"a": ["x"]}, ["a"])
    yield "a chain", case({"a": ["x"], "b": ["a"], "c": ["b"]}, ["c"])
    yield "an op of two leaves", case({"a": ["x", "w"]}, ["a"], ("x", "w"))
    yield "an input without gradient", case({"a": ["x", None], "b": [None, "a"]}, ["b"])
    yield "x * x", case({"a": ["x", "x"]}, ["a"])
    yield "a leaf used by two ops", case({"a": ["x"], "b": ["a", "x"]}, ["b"])
    yield "a result used twice", case({"a": ["x"], "b": ["a", "a"]}, ["b"])
    yield "a diamond", case({"a": ["x"], "b": ["a"], "c": ["a"], "d": ["b", "c"]}, ["d"])
    longer = {"a": ["x"], "b": ["a"], "c": ["b"], "d": ["a", "c"]}
    yield "one way is longer", case(longer, ["d"])
    yield "the other way is longer", case({**longer, "d": ["c", "a"]}, ["d"])
    yield "what no root leads to", case({"a": ["x"], "b": ["a"], "c": ["a"]}, ["b"])
    yield "two roots", case({"a": ["x"], "b": ["a"], "c": ["a"]}, ["b", "c"])
    yield "the older root first", case({"a": ["x"], "b": ["x"], "c": ["b"]}, ["a", "c"])
    yield "one root leads to the other", case({"a": ["x"], "b": ["a"]}, ["a", "b"])
    yield "a root twice", case({"a": ["x"]}, ["a", "a"])
    yield "a leaf as root", case({}, ["x"])
    yield "a leaf as root, and behind one", case({"a": ["x", "w"]}, ["x", "a"], ("x", "w"))
    yield "no roots", case({"a": ["x"]}, [])
    for size in (8, 12, 16):
        yield f"{size} nodes", case(*drawn(rng, size), ("x", "w"))
    yield "a deep graph", case({"a": ["x"], "b": ["a", "x"]}, ["b", "a"], deep=20000)


def drawn(rng, size):
    nodes = {}
    for i in range(size):
        others = ["x", "w", *nodes]
        inputs = [others[int(k)] for k in rng.integers(0, len(others), 2)]
        nodes[f"n{i}"] = inputs
    return nodes, [f"n{size - 1}", f"n{int(rng.integers(0, size))}"]


def answer(leaves, nodes, deep, roots):
    """From the youngest to the oldest: what is younger has said by then whether it sends here."""
    waiting, reached, order = {}, set(), [f"deep {i}" for i in reversed(range(deep))]

    def reach(names):
        for name in names:
            if name in leaves:
                waiting[name] = waiting.get(name, 0) + 1
            reached.add(name)

    reach(roots)
    for name in reversed(nodes):
        if name in reached:
            order.append(name)
            reach(nodes[name])
    return {"order": order[-SHOWN:], "how many nodes": len(order), "waiting": waiting}


def why(got, expected, leaves, nodes, deep, roots):
    if not isinstance(got, dict):
        return "a list of nodes is asked for"
    if got["waiting"] != expected["waiting"]:
        return f"self.waiting counts edges to leaves: {expected['waiting']}, got {got['waiting']}"
    if sorted(got["order"]) == sorted(expected["order"]):
        return f"the youngest goes first: {expected['order'][:9]}, got {got['order'][:9]}"
    return f"each node that is reached, once: {expected['order'][:9]}, got {got['order'][:9]}"
