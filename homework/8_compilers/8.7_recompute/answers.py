import runpy
from pathlib import Path

facts = runpy.run_path(str(Path(__file__).with_name("facts.py")))


def cases(rng):
    """Launches; the bytes of what they make; the budget."""
    for name, (text, sizes, budget) in {
        "enough memory": ("a=matmul(x,w) g=gelu(a) y=matmul(g,a)", "a8 g8 y1", 17),
        "one that lies idle": (
            "a=matmul(x,w) g=gelu(a) b=matmul(g,w) c=matmul(b,b) d=matmul(c,g) y=matmul(d,a)",
            "a8 g8 b8 c8 d1 y1",
            25,
        ),
        "made of what is given": (
            "g=gelu(x) b=matmul(g,w) c=matmul(b,b) d=matmul(c,g) y=matmul(d,d)",
            "g8 b8 c8 d1 y1",
            17,
        ),
        "read twice behind the peak": (
            "g=gelu(x) b=matmul(g,w) c=matmul(b,b) d=matmul(c,g) e=matmul(d,g) y=matmul(e,g)",
            "g8 b8 c8 d1 e1 y1",
            17,
        ),
        "changed in place": (
            "a=matmul(x,w) g=gelu(a) g=add(g,x) b=matmul(g,w) c=matmul(b,b) d=matmul(c,g)"
            " y=matmul(d,a)",
            "a8 g8 b8 c8 d1 y1",
            25,
        ),
        "changed in place behind the peak": (
            "g=gelu(x) b=matmul(g,w) c=matmul(b,b) g=add(g,c) d=matmul(c,g) y=matmul(d,d)",
            "g8 b8 c8 d1 y1",
            17,
        ),
        "made of what is dead": (
            "a=matmul(x,w) n,s=norm(a) g=gelu(n) b=matmul(g,w) c=matmul(b,b) e=matmul(c,c)"
            " d=matmul(e,g) y=matmul(d,a)",
            "a8 n8 s1 g8 b8 c16 e1 d1 y1",
            32,
        ),
        "two results of one launch": (
            "n,s=norm(x) b=matmul(n,w) c=matmul(b,b) d=matmul(c,n) y=matmul(d,s)",
            "n8 s4 b8 c8 d1 y1",
            20,
        ),
        "two peaks": (
            "g=gelu(x) b=matmul(g,w) c=matmul(b,b) d=matmul(c,g) e=matmul(d,d) h=matmul(e,e)"
            " i=matmul(h,g) y=matmul(i,i)",
            "g8 b8 c8 d1 e8 h8 i1 y1",
            17,
        ),
        "two that lie idle": (
            "g=gelu(x) b=matmul(g,w) h=gelu(b) c=matmul(h,h) d=matmul(c,c) e=matmul(d,h)"
            " f=matmul(e,b) y=matmul(f,g)",
            "g8 b4 h8 c8 d8 e1 f1 y1",
            21,
        ),
        "one of two is made of a draw": (
            "m=rand() g=mul(x,m) b=matmul(g,w) c=matmul(b,b) d=matmul(c,g) y=matmul(d,m)",
            "m2 g8 b8 c8 d1 y1",
            19,
        ),
        "one of two is a draw": (
            "g=gelu(x) m=rand() b=matmul(g,m) c=matmul(b,b) d=matmul(c,m) y=matmul(d,g)",
            "m8 g8 b8 c8 d1 y1",
            24,
        ),
        "one of two costs more than it saves": (
            "a=matmul(x,w) h=gelu(x) n=norm(a) g=gelu(n) b=matmul(g,h) c=matmul(b,b) d=matmul(c,g)"
            " e=matmul(d,a) y=matmul(e,h)",
            "a8 h8 n60 g8 b40 c40 d1 e1 y1",
            96,
        ),
        "two are made of one that is dead": (
            "a=matmul(x,w) n,s=norm(a) g=gelu(n) h=mul(n,n) b=matmul(g,h) c=matmul(b,b)"
            " e=matmul(c,c) d=matmul(e,h) f=matmul(d,d) k=matmul(f,f) i=matmul(k,g) y=matmul(i,a)",
            "a8 n8 s1 g8 h8 b24 c24 e1 d1 f48 k1 i1 y1",
            57,
        ),
        "one of two is a product": (
            "a=matmul(x,w) g=gelu(x) b=matmul(a,g) c=matmul(b,b) d=matmul(c,a) y=matmul(d,g)",
            "a8 g8 b8 c8 d1 y1",
            24,
        ),
        "one of two is held": (
            "y=gelu(x) g=gelu(w) b=matmul(y,g) c=matmul(b,b) d=matmul(c,y) e=matmul(d,g)",
            "y8 g8 b8 c8 d1 e1",
            24,
        ),
        "what it is made of is changed": (
            "g=mul(x,w) h=gelu(x) b=matmul(g,h) c=matmul(b,b) w=add(w,x) d=matmul(c,g)"
            " y=matmul(d,h)",
            "g8 h8 b8 c8 d1 y1",
            24,
        ),
        "a result that it is made of is changed": (
            "a=matmul(x,w) g=gelu(a) h=gelu(x) b=matmul(g,h) c=matmul(b,b) a=add(a,c) d=matmul(c,g)"
            " e=matmul(d,h) y=matmul(e,a)",
            "a8 g8 h8 b8 c8 d1 e1 y1",
            32,
        ),
        "what it is made of has been written anew": (
            "a=gelu(x) g=gelu(a) a=gelu(w) b=matmul(g,a) c=matmul(b,b) d=matmul(c,g) y=matmul(d,a)",
            "a8 g8 b8 c8 d1 y1",
            24,
        ),
        "no launches": ("", "", 0),
    }.items():
        yield name, case(text, sizes, budget)
    for layers in (1, 2, 4, 8):
        yield f"a step of {layers} residual blocks", blocks(rng, layers)


def case(text, sizes, budget, held=("y",)):
    launches = []
    for launch in text.split():
        writes, call = launch.split("=")
        kernel, reads = call.rstrip(")").split("(")
        names = [tuple(filter(None, names.split(","))) for names in (reads, writes)]
        launches.append((kernel, *names, "draws" if kernel == "rand" else ""))
    names = [word.rstrip("0123456789") for word in sizes.split()]
    lengths = [int(word[len(name) :]) for name, word in zip(names, sizes.split(), strict=True)]
    bytes_of = dict(zip(names, lengths, strict=True))
    return {"launches": launches, "sizes": bytes_of, "held": list(held), "budget": budget}


def blocks(rng, layers):
    """Norm, product, GELU, product, all added to the input; gradients are held. As large as what
    lives at once if norms and GELUs are computed again."""
    width, inner = int(rng.integers(2, 8)) * 8, int(rng.integers(2, 5))
    forward, backward, again, sizes, held = [], [], [], {}, ["loss"]
    for k in map(chr, range(ord("A"), ord("A") + layers)):
        last = f"x{chr(ord(k) - 1)}" if forward else "x"
        norm, gelu = f"n{k},s{k}=norm({last})", f"g{k}=gelu(u{k})"
        forward += [norm, f"u{k}=matmul(n{k},W{k})", gelu, f"d{k}=matmul(g{k},V{k})"]
        forward.append(f"x{k}=add({last},d{k})")
        late = [
            f"GV{k}=matmul(g{k},G{k})", f"p{k}=matmul(G{k},V{k})", f"q{k}=gelu_backward(p{k},u{k})",
            f"GW{k}=matmul(n{k},q{k})", f"r{k}=matmul(q{k},W{k})",
            f"t{k}=norm_backward(r{k},{last},s{k})",
            f"{'G' + last[1:] if last != 'x' else 'G'}=add(G{k},t{k})",
        ]  # fmt: skip
        marked = [gelu.replace("=", "'=", 1), late[0].replace(f"g{k}", f"g{k}'"), *late[1:3]]
        marked.append(f"n{k}',s{k}'=norm({last})")
        marked += [x.replace(f"n{k},", f"n{k}',").replace(f"s{k})", f"s{k}')") for x in late[3:]]
        backward, again = late + backward, marked + again
        sizes |= dict.fromkeys([f"{name}{k}" for name in "ndxrtG"], width)
        sizes |= dict.fromkeys([f"{name}{k}" for name in "ugpq"], width * inner)
        sizes |= {f"s{k}": 2, f"GV{k}": width, f"GW{k}": width}
        held += [f"GV{k}", f"GW{k}"]
    sizes |= {"G": width, "loss": 1}
    loss = [f"loss=sum(x{k})", f"G{k}=loss_backward(x{k})"]
    found = case(" ".join(forward + loss + backward), "", 0, held)
    less = case(" ".join(forward + loss + again), "", 0)["launches"]
    budget = facts["peak_of"](less, sizes, held)
    return {**found, "sizes": sizes, "budget": budget}


def answer(launches, sizes, held, budget):
    return {"broken": "", "bytes above the budget": 0}


def why(got, expected, launches, sizes, held, budget):
    if got["broken"]:
        return got["broken"]
    before = facts["peak_of"](launches, sizes, held)
    peak = budget + got["bytes above the budget"]
    return (
        f"the peak was {before} bytes and is {peak}, the budget is {budget}: at the peak, what "
        "lies idle, and can be made from what is there when it is read next?"
    )
