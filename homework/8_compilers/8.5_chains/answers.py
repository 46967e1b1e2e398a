import runpy
from pathlib import Path

import numpy as np

ours = runpy.run_path(str(Path(__file__).with_name("memory.py")))


def cases(rng):
    """Launches as `a=add(x,y)`; x+1 begins an element later, x' is transposed, x* repeats a row."""
    for name, (shape, text, held) in {
        "one launch": ("100", "a=neg(x)", "a"),
        "two, and a value between": ("128", "a=neg(x) b=relu(a)", "b"),
        "less than a block": ("5", "a=neg(x) b=relu(a)", "b"),
        "a last block that is not full": ("200", "a=mul(x,y) b=add(a,z) c=relu(b)", "c"),
        "the caller holds what is between": ("100", "a=neg(x) b=relu(a)", "a b"),
        "one read for two launches": ("100", "a=neg(x) b=relu(x) c=add(a,b)", "c"),
        "one read, twice in a launch": ("100", "a=mul(x,x)", "a"),
        "in place": ("100", "x=neg(x) x=add(x,y) x=relu(x)", "x"),
        "a buffer that is used again": ("100", "a=neg(x) b=relu(a) a=add(b,x) c=mul(a,b)", "c"),
        "no more than reads in common": ("100", "a=neg(x) b=relu(x+1) c=add(a,b)", "c"),
        "a shifted view of a result": ("100", "a=neg(x) b=relu(a+1) c=add(b,y)", "c"),
        "a shifted view, two launches later": ("100", "a=neg(x) b=relu(y) c=sub(b,a+1)", "c"),
        "a read, and a shifted write": ("100", "a=neg(x) x+1=relu(y) c=add(a,y)", "a c x"),
        "two writes, one shifted": ("100", "a=neg(x) a+1=relu(x) c=add(x,y)", "a c"),
        "two halves of a buffer": ("100", "a=neg(x) a+100=relu(x) b=add(a,a+100)", "b a"),
        "a transposed view": ("10x20", "a=neg(x) b=add(a',y)", "b"),
        "all are transposed": ("10x20", "a'=neg(x') b=add(a',y')", "b"),
        "a transposed read": ("12x12", "a=neg(x) b=add(a,y') c=add(b,y)", "c"),
        "a row is read for all": ("10x20", "a=add(x,r*) b=mul(a,r*)", "b"),
        "a row of a result": ("10x20", "a=neg(x) b=mul(y,a*)", "b"),
        "another shape, as many elements": ("200", "a=neg(x) 10x20:b=relu(a) c=add(b,y)", "c"),
        "another length": ("100", "a=neg(x) 50:b=relu(y) 100:c=add(a,x)", "b c"),
        "a part of a result": ("100", "a=neg(x) 50:b=relu(a) c=neg(b)", "c"),
        "a sum between": ("100", "a=neg(x) b=relu(a) s=sum(b) c=mul(b,y)", "c s"),
        "a sum of what nobody else needs": ("100", "a=neg(x) b=relu(x) s=sum(x) c=add(a,y)", "c s"),
        "a product between": ("12x12", "a=neg(x) b=matmul(a,w) c=relu(b) d=add(c,a)", "d"),
        "two reductions": ("100", "s=sum(x) t=sum(y) a=neg(x)", "s t a"),
        "read behind the chain, at other places": (
            "100",
            "a=neg(x) b=relu(a) c=add(b,x) d=neg(a+1) e=add(d,c)",
            "e",
        ),
        "written again behind the chain": (
            "100",
            "a=neg(x) b=relu(a) s=sum(b) a=add(x,y) c=mul(a,b)",
            "c s",
        ),
        "only written behind the chain": ("100", "a=neg(x) b=relu(a) s=sum(b) a=add(x,b)", "b s"),
        "no launches": ("100", "", "x"),
    }.items():
        yield name, made(rng, parsed(shape, text), held.split())
    for count in (6, 12, 24):
        yield "any", drawn(rng, count)


def sizes_of(text):
    return tuple(int(n) for n in text.split("x"))


def parsed(shape, text):
    launches, shape = [], sizes_of(shape)
    for word in text.split():
        before, colon, launch = word.rpartition(":")
        shape = sizes_of(before) if colon else shape
        result, call = launch.split("=")
        kernel, inputs = call.rstrip(")").split("(")
        operands = [view(shape, x) for x in inputs.split(",")]
        first = (result, 0, (0,) * len(shape)) if kernel == "sum" else view(shape, result)
        launches.append((kernel, shape, (first, *operands)))
    return launches


def view(shape, text):
    name, _, offset = text.rstrip("'*").partition("+")
    columns = shape[-1] if len(shape) == 2 else 0
    strides = (columns, 1) if columns else (1,)
    if text.endswith("'"):
        strides = (1, shape[0])
    if text.endswith("*"):
        strides = (0, 1)
    return name, int(offset or 0), strides


def made(rng, launches, held):
    """With a memory: as large as the views ask for, and at first full of other numbers."""
    sizes = dict.fromkeys(held, 100)
    for _, shape, operands in launches:
        for operand in operands:
            reach = int(ours["positions"](shape, operand).max()) + 1
            sizes[operand[0]] = max(sizes.get(operand[0], 0), reach)
    memory = {
        name: rng.uniform(-1, 1, size).astype(np.float32) for name, size in sorted(sizes.items())
    }
    return {"memory": memory, "launches": launches, "held": held}


def drawn(rng, count):
    names, words = list("xyz"), []
    for _ in range(count):
        kernel = str(
            rng.choice(["neg", "relu", "add", "sub", "mul", "sum"], p=[0.2] * 4 + [0.15, 0.05])
        )
        inputs = [
            str(x) for x in rng.choice(names[-4:], 2 if kernel in ("add", "sub", "mul") else 1)
        ]
        result = str(rng.choice(list("abcdef")))
        if kernel == "sum":
            result = "s"
        elif result not in inputs and rng.random() < 0.15:
            inputs[0] += "+1"
        words.append(f"{result}={kernel}({','.join(inputs)})")
        if kernel != "sum":
            names = [x for x in names if x != result] + [result]
    return made(rng, parsed("150", " ".join(words)), ["s", names[-1]])


def may_join(one, other):
    if one[0] in ours["WHOLE"] or other[0] in ours["WHOLE"]:
        return False
    if np.prod(one[1]) != np.prod(other[1]):
        return False
    first = [(x[0], ours["positions"](one[1], x).tolist()) for x in one[2]]
    second = [(x[0], ours["positions"](other[1], x).tolist()) for x in other[2]]
    pairs = [(first[0], x) for x in second] + [(x, second[0]) for x in first]
    return all(a[0] != b[0] or a[1] == b[1] or not set(a[1]).intersection(b[1]) for a, b in pairs)


def bytes_of(launches, held, joins=True, keeps=True, hides=True):
    """That go through memory; or without chains, with reads again, with all results written."""
    chains, total = [], 0
    for launch in launches:
        if joins and chains and all(may_join(other, launch) for other in chains[-1]):
            chains[-1].append(launch)
        else:
            chains.append([launch])
    for k, chain in enumerate(chains):
        later = [x[0] for other in chains[k + 1 :] for launch in other for x in launch[2][1:]]
        known, results = set(), set()
        for kernel, shape, (result, *inputs) in chain:
            count = int(np.prod(shape))
            if kernel in ours["WHOLE"]:
                total += 4 * (len(inputs) * count + (1 if kernel == "sum" else count))
                continue
            for x in inputs:
                place = x[0], tuple(ours["positions"](shape, x))
                total += 4 * count if place not in known or not keeps else 0
                known.add(place)
            place = result[0], tuple(ours["positions"](shape, result))
            written = result[0] in held or result[0] in later or not hides
            total += 4 * count if written and place not in results else 0
            known.add(place)
            results.add(place)
    return total


def answer(memory, launches, held):
    memory = {name: x.copy() for name, x in memory.items()}
    for launch in launches:
        ours["run_whole"](memory, launch)
    return {"held": {name: memory[name] for name in held}, "bytes": bytes_of(launches, held)}


def why(got, expected, memory, launches, held):
    for name in held:
        if not np.array_equal(got["held"][name], expected["held"][name]):
            return (
                f"the caller finds other values in {name}: has a launch seen another block of what "
                "a launch before it in the chain writes, or changes? Has a chain written all that "
                "is read behind it?"
            )
    rules = {
        "joins": "neighbours that may join are one chain",
        "keeps": "what a chain has read or computed at a place is not read there again",
        "hides": "what neither the caller nor a launch behind the chain reads is not written",
    }
    broken = [
        rule
        for way, rule in rules.items()
        if got["bytes"] == bytes_of(launches, held, **{way: False})
    ]
    if not broken and got["bytes"] > expected["bytes"]:
        broken = ["a chain reads a place once, and writes one once, or not at all"]
    if not broken:
        broken = ["these are fewer than the contract's chains take"]
    return f"the bits are right, the bytes are not: {'; or '.join(broken)}"
