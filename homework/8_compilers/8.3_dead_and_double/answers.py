EFFECTS = {"rand": "draws", "labels": "checks"}


def cases(rng):
    for name, (text, held) in {
        "all are needed": ("a=exp(x) y=neg(a)", "x y"),
        "nobody reads it": ("a=exp(x) y=neg(x)", "x y"),
        "only a dead one reads it": ("a=exp(x) b=neg(a) c=exp(b) y=neg(x)", "x y"),
        "nothing at all": ("", "x"),
        "only the caller reads it": ("y=exp(x) z=neg(x)", "x y z"),
        "a draw that nobody reads": ("a=rand() b=rand() y=mul(x,b)", "x y"),
        "a check has no result": ("=labels(x) y=neg(x)", "x y"),
        "what is checked is needed": ("a=neg(x) =labels(a) y=exp(x)", "x y"),
        "one of two results": ("a,s=norm(x) y=neg(s)", "x y"),
        "an argument is changed in place": ("x=add(x,w)", "x w"),
        "in place, and dead": ("a=exp(x) a=add(a,x) y=neg(x)", "x y"),
        "in place, and read": ("a=exp(x) a=add(a,x) y=neg(a)", "x y"),
        "written anew": ("a=exp(x) a=neg(x) y=exp(a)", "x y"),
        "written anew behind a reader": ("a=exp(x) y=neg(a) a=neg(x) z=exp(a)", "x y z"),
        "a result is written twice": ("y=exp(x) y=neg(x)", "x y"),
        "read only before it is written": ("a=exp(x) b=neg(a) a=exp(b) y=mul(b,b)", "x y"),
        "a double": ("a=exp(x) b=exp(x) y=mul(a,b)", "x y"),
        "a double of three": ("a=exp(x) b=exp(x) c=exp(x) y=mul(b,c)", "x y"),
        "doubles of doubles": ("a=exp(x) b=exp(x) c=neg(a) d=neg(b) y=mul(c,d)", "x y"),
        "another kernel": ("a=exp(x) b=neg(x) y=mul(a,b)", "x y"),
        "the other way round": ("a=sub(x,w) b=sub(w,x) y=mul(a,b)", "x w y"),
        "draws are no doubles": ("a=rand() b=rand() y=mul(a,b)", "y"),
        "a check is done twice": ("=labels(x) =labels(x) y=neg(x)", "x y"),
        "two results are no double": ("a,s=norm(x) b,t=norm(x) y=mul(a,t)", "x y"),
        "a read is changed in between": ("a=exp(x) x=neg(x) b=exp(x) y=mul(a,b)", "x y"),
        "a read is written anew in between": (
            "c=neg(x) a=exp(c) c=exp(x) b=exp(c) y=mul(a,b) z=neg(c)",
            "x y z",
        ),
        "a read is changed before and behind": (
            "c=neg(x) c=add(c,x) a=exp(c) b=exp(c) y=mul(a,b) c=exp(b) z=neg(c)",
            "x y z",
        ),
        "the double is changed later": ("a=exp(x) b=exp(x) b=add(b,x) y=mul(a,b)", "x y"),
        "the first is changed later": ("a=exp(x) b=exp(x) a=add(a,x) y=mul(a,b)", "x y"),
        "the double is held": ("a=exp(x) y=exp(x) z=neg(a)", "x y z"),
        "the first is held": ("y=exp(x) a=exp(x) z=neg(a)", "x y z"),
        "a held one, then a double": ("a=exp(x) y=exp(x) b=exp(x) z=mul(a,b)", "x y z"),
        "the first is dead": ("a=exp(x) b=exp(x) y=neg(b)", "x y"),
        "a dead one would have changed it": (
            "a=exp(x) b=exp(x) y=mul(a,b) b=add(b,x)",
            "x y",
        ),
        "the same read, twice in place": ("x=neg(x) x=neg(x) x=neg(x)", "x"),
    }.items():
        yield name, {"launches": parsed(text), "held": held.split()}
    for count in (8, 12, 16, 24, 32):
        yield "any", drawn(rng, count)


def parsed(text):
    launches = []
    for launch in text.split():
        writes, call = launch.split("=")
        kernel, reads = call.rstrip(")").split("(")
        names = [tuple(filter(None, names.split(","))) for names in (reads, writes)]
        launches.append((kernel, *names, EFFECTS.get(kernel, "")))
    return launches


def drawn(rng, count):
    """Memory that is used again and again, as by an allocator."""
    there, launches = ["x", "w"], []
    arity = {"exp": 1, "neg": 1, "add": 2, "mul": 2, "rand": 0, "labels": 1, "norm": 1}
    odds = [0.25, 0.2, 0.15, 0.2, 0.07, 0.05, 0.08]
    for _ in range(count):
        kernel = str(rng.choice(list(arity), p=odds))
        reads = tuple(str(name) for name in rng.choice(there, arity[kernel]))
        results = {"labels": 0, "norm": 2}.get(kernel, 1)
        names = [str(name) for name in rng.choice(list("abcdefghij"), results, replace=False)]
        if kernel in ("add", "mul") and rng.random() < 0.2:
            names = [reads[0]]
        launches.append((kernel, reads, tuple(names), EFFECTS.get(kernel, "")))
        there += [name for name in names if name not in there]
    held = ["x", "w", *[str(name) for name in rng.choice(there[2:], 2)]]
    return {"launches": launches, "held": sorted(set(held))}


def last_writer(launches, name, before):
    """The number of the launch whose result is in the buffer then, or None."""
    return next((k for k in reversed(range(before)) if name in launches[k][2]), None)


def answer(launches, held):
    queue = [k for k, launch in enumerate(launches) if launch[3]]
    queue += [last_writer(launches, name, len(launches)) for name in held]
    needed = set()
    while queue:
        k = queue.pop()
        if k is not None and k not in needed:
            needed.add(k)
            queue += [last_writer(launches, name, k) for name in launches[k][1]]
    left = [launches[k] for k in sorted(needed)]
    k = 0
    while k < len(left):
        first = next((i for i in range(k) if is_double(left, i, k, held)), None)
        if first is None:
            k += 1
            continue
        new, old = left.pop(k)[2][0], left[first][2][0]
        left = [
            (kernel, tuple(old if name == new else name for name in reads), writes, effect)
            for kernel, reads, writes, effect in left
        ]
    return left


def is_double(launches, i, k, held):
    (kernel, reads, writes, effect), other = launches[i], launches[k]
    if (kernel, reads, "") != (other[0], other[1], effect) or len(writes) != 1 != len(other[2]):
        return False
    all_writes = [name for launch in launches for name in launch[2]]
    alone = all(all_writes.count(name) == 1 for name in (*writes, *other[2]))
    between = {name for launch in launches[i:k] for name in launch[2]}
    apart = not between & set(reads) and other[2][0] not in reads
    return alone and apart and other[2][0] not in held


def run(launches, held):
    """What is drawn, what is checked, what is held at the end; values are known by their hashes."""
    memory, draws, checks = {}, [], []
    for kernel, reads, writes, effect in launches:
        values = tuple(memory.get(name, name) for name in reads)
        if effect == "draws":
            draws.append(kernel)
            values += (f"draw {len(draws)}",)
        if effect == "checks":
            checks.append((kernel, values))
        for k, name in enumerate(writes):
            memory[name] = hash((kernel, values, k))
    return draws, checks, [memory.get(name, name) for name in held]


def why(got, expected, launches, held):
    if not isinstance(got, list) or not all(isinstance(x, tuple) and len(x) == 4 for x in got):
        return "a list of launches: (kernel, reads, writes, effect)"
    (draws, checks, values), (draws_now, checks_now, values_now) = [
        run(each, held) for each in (launches, got)
    ]
    if draws != draws_now:
        return "a launch that draws stays: without it all later draws have other numbers"
    if len(checks) != len(checks_now):
        return "a launch that checks stays: it has no result, but it may raise"
    for one, other in zip(checks, checks_now, strict=True):
        if one != other:
            return f"{one[0]} checks other elements than before"
    for name, value, now in zip(held, values, values_now, strict=True):
        if now == name != value:
            return f"the caller holds {name}: who wrote it last stays"
        if value != now:
            return (
                f"the caller finds another value in {name}: a launch was dropped that it is made "
                "from, or one that somebody overwrites is read in place of a double"
            )
    if len(got) > len(expected):
        more = [x for x in got if x not in expected]
        return f"the values are right; by the contract's rules one may go: {more[:1]}"
    return "the values are right; what the contract's rules do not drop or rename stays as it is"
