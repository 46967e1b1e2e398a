ELEMENTWISE = ("add", "sub", "mul", "neg", "exp", "relu")


def cases(rng):
    for name, (text, outputs) in {
        "one op": ("a=neg(x)", "a"),
        "a chain of two": ("a=neg(x) b=exp(a)", "b"),
        "a chain of four": ("a=mul(x,y) b=add(a,z) c=relu(b) d=neg(c)", "d"),
        "a product in the middle": ("a=neg(x) b=matmul(a,w) c=relu(b) d=exp(c)", "d"),
        "two products": ("a=matmul(x,w) b=matmul(a,v)", "b"),
        "two readers": ("a=neg(x) b=exp(a) c=relu(a)", "b c"),
        "two readers that meet again": ("a=neg(x) b=exp(a) c=relu(a) d=add(b,c)", "d"),
        "one reader, twice": ("a=neg(x) b=mul(a,a)", "b"),
        "a result that is asked for": ("a=neg(x) b=exp(a)", "a b"),
        "two chains into one": ("a=neg(x) b=exp(y) c=add(a,b)", "c"),
        "two chains into one, the later first": ("a=neg(x) b=exp(y) c=add(b,a)", "c"),
        "two chains in turn into one": (
            "a=neg(x) b=exp(y) c=relu(a) d=relu(b) e=add(c,d)",
            "e",
        ),
        "the same, the later first": ("a=neg(x) b=exp(y) c=relu(a) d=relu(b) e=add(d,c)", "e"),
        "two chains, in turn": ("a=neg(x) b=exp(y) c=relu(a) d=relu(b)", "c d"),
        "a sum reads it": ("a=neg(x) b=sum(a)", "b"),
        "a sum reads it, too": ("a=neg(x) b=sum(a) c=sub(a,b)", "c"),
        "softmax": ("a=max(x) b=sub(x,a) c=exp(b) d=sum(c) e=neg(d) f=mul(c,e)", "f"),
        "no nodes": ("", ""),
        "one that nobody reads": ("a=neg(x) b=exp(x)", "b"),
    }.items():
        yield name, {"nodes": parsed(text), "outputs": outputs.split()}
    for count in (6, 12, 24):
        yield "any", drawn(rng, count)


def parsed(text):
    nodes = []
    for node in text.split():
        name, call = node.split("=")
        op, inputs = call.rstrip(")").split("(")
        nodes.append((name, op, tuple(inputs.split(","))))
    return nodes


def drawn(rng, count):
    names, nodes = ["x", "y"], []
    for k in range(count):
        op = str(rng.choice([*ELEMENTWISE, "sum", "matmul"]))
        arity = 2 if op in ("add", "sub", "mul", "matmul") else 1
        # mostly recent ones, so that chains come about
        nearest = [
            names[-1 - min(int(rng.geometric(0.5)) - 1, len(names) - 1)] for _ in range(arity)
        ]
        nodes.append((f"n{k}", op, tuple(nearest)))
        names.append(f"n{k}")
    return {"nodes": nodes, "outputs": [f"n{count - 1}"]}


def answer(nodes, outputs):
    last = {}  # of the kernel that computes a node
    for name, op, _ in reversed(nodes):
        reading = [(n, o) for n, o, inputs in nodes if name in inputs]
        alone = len(reading) == 1 and name not in outputs
        joins = alone and op in ELEMENTWISE and reading[0][1] in ELEMENTWISE
        last[name] = last[reading[0][0]] if joins else name
    names = [name for name, _, _ in nodes]
    return [[n for n in names if last[n] == end] for end in names if last[end] == end]


def why(got, expected, nodes, outputs):
    if not isinstance(got, list) or not all(isinstance(group, list) for group in got):
        return "a list of lists of names"
    if sorted(n for group in got for n in group) != sorted(name for name, _, _ in nodes):
        return "each node is in one kernel"
    for group in got:
        for name in group[:-1]:
            readers = [n for n, _, inputs in nodes if name in inputs]
            if name in outputs:
                return f"{name} is an output: it has to be written"
            if any(reader not in group for reader in readers):
                return f"{name} is read outside of its kernel, by {', '.join(readers)}"
    if sorted(map(sorted, got)) == sorted(map(sorted, expected)):
        return (
            "the kernels are right, the order is not: kernels go by their last nodes, the names in "
            "each by the list"
        )
    return "a node joins its only reader, if both are elementwise and the node is no output"
