"""The arithmetic of docs/interactive is that of the package, and the pages need nothing else.

A page keeps its arithmetic in a script of its name, which touches no document: a small JavaScript
engine runs it here.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiny_torch as torch

quickjs = pytest.importorskip("quickjs")  # the package quickjs-ng of the extra `test`

FOLDER = Path(__file__).parents[2] / "docs/interactive"
PAGES = sorted(FOLDER.glob("*.html"))


class Page:
    """A page's arithmetic: `page("f", 1, [2])` is what f(1, [2]) answers."""

    def __init__(self, name: str) -> None:
        self.context = quickjs.Context()
        self.context.eval((FOLDER / f"{name}.js").read_text())

    def __call__(self, function: str, *arguments: Any) -> Any:
        said = ", ".join(json.dumps(argument) for argument in arguments)
        return json.loads(self.context.eval(f"JSON.stringify({function}({said}))"))


# --------------------------------------------------------------------------- what pages are made of
def test_there_are_five_pages_and_the_index_names_each():
    index = (FOLDER.parent / "interactive.md").read_text()
    assert re.findall(r"\]\(interactive/(\w+\.html)\)", index) == [
        *("strides.html", "backward.html", "tiles.html", "convolution.html", "cache.html")
    ]
    assert {page.name for page in PAGES} == set(re.findall(r"\w+\.html", index))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_asks_nothing_of_the_network(page):
    html = page.read_text()
    links = re.findall(r'(?:href|src)="([^"]*)"', html)
    assert [link for link in links if not (FOLDER / link).is_file()] == []
    assert links.count(page.name) == html.count('aria-current="page"') == 1
    parts = [FOLDER / name for name in ("common.css", "common.js", f"{page.stem}.js")]
    assert {part.name for part in parts} <= set(links)
    text = html + "".join(part.read_text() for part in parts)
    assert len(text.encode()) < 60_000
    addresses = text.replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    assert not re.search(r"https?:|//\w+\.\w|@import|url\(|fetch\(|XMLHttpRequest", addresses)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_that_a_page_names_is_there(page):
    foot = re.search(r"In the code: (.*?)</p>", page.read_text(), re.S)[1]
    name, path = re.match(r"<code>([^<]*)</code>(?: in <code>([^<]*)</code>)?", foot).groups()
    for other in re.findall(r"<code>(\w+/[^<]*)</code>", foot):
        assert (FOLDER.parents[1] / other).exists(), other
    if path:
        text = (FOLDER.parents[1] / path).read_text()
        for part in name.split("."):
            assert re.search(rf"\b(?:class|def|void) {part}\b", text), name


# ------------------------------------------------------------------------------------------ strides
def random_slice(rng: random.Random, shape: list[int]) -> list:
    parts = []
    for n in shape:
        start = rng.randrange(n)
        parts.append([start, rng.randint(start + 1, n), rng.randint(1, 3)])
    return ["slice", *parts]


@pytest.mark.parametrize("seed", range(60))
def test_strides_are_those_of_the_package(seed):
    """A chain of random calls, each as Python says it."""
    page, rng = Page("strides"), random.Random(seed)
    shape = rng.choice([[24], [4, 6], [2, 3, 4]])
    ours = torch.arange(24).reshape(shape)
    calls = [random_slice(rng, shape)] if rng.random() < 0.5 else []
    for _ in range(5):
        views = page("chain", shape, calls)
        if calls:
            before, view = views[-2:]
            memory = ours.untyped_storage().data_ptr()
            ours = eval("ours" + page("python", calls[-1], before["shape"]))
            copies = page("((v, call) => apply(v, call).memory !== v.memory)", before, calls[-1])
            assert (ours.untyped_storage().data_ptr() != memory) == copies, calls
            assert list(ours.shape) == view["shape"], calls
            assert list(ours.stride()) == view["stride"], calls
            assert ours.storage_offset() == view["offset"], calls
            assert ours.is_contiguous() == page("isContiguous", view), calls
            assert ours.flatten().tolist() == page("values", view), calls
        offered = page("callsOf", views[-1])
        if not offered:
            break
        calls.append(rng.choice(offered))


# ----------------------------------------------------------------------------------------- backward
LEAVES = {"a": 0.7, "b": -1.3, "c": 2.1, "d": 0.4}
FUNCTIONS = {name: getattr(torch, name) for name in ("tanh", "exp", "log", "relu", "sigmoid")}


def random_expression(rng: random.Random, depth: int, names: list[str]) -> str:
    """With values that stay in the domain of log and **, and far from overflow."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice([*names, *names, f"{rng.randint(1, 30) / 10}"])
    left, right = (random_expression(rng, depth - 1, names) for _ in range(2))
    return rng.choice(
        [
            *(f"({left} {sign} {right})" for sign in ("+", "-", "*")),
            *(f"{left} {sign} {right}" for sign in ("+", "-", "*")),
            *(f"tanh({left} + a)", f"({left} * b).tanh()", f"sigmoid({left} - d)"),
            *(f"-{left}", f"-({left})**2", f"relu({left} * c)", f"exp(tanh({left} + b))"),
            *(f"{left} / (1.5 + sigmoid({right} * d))", f"log(({left} * a)**2 + 0.1)"),
            *(f"(0.2 + sigmoid(a - {left})) ** tanh({right} + c)", f"2 ** -tanh({left} * d)"),
        ]
    )


def random_program(rng: random.Random) -> str:
    """Up to two named values, each used later, and an expression that has a variable."""
    names, lines = list(LEAVES), []
    for name in ("h", "g")[: rng.randrange(3)]:
        lines.append(f"{name} = a * {random_expression(rng, 2, names)}; ")
        names += [name, name]
    return f"{''.join(lines)}({random_expression(rng, 3, names)}) * {rng.choice(names)}"


def order_of_nodes(root: Any) -> list[str]:
    """Runs backward; the ops of the nodes as they run."""
    order, seen, stack = [], set(), [root.grad_fn]
    while stack:
        node = stack.pop()
        if node is None or node in seen or "Accumulate" in node.name():
            continue
        seen.add(node)
        op = re.sub(r"Backward\d*$", "", node.name()).lower()
        node.register_prehook(lambda grads, op=op: order.append(op))
        stack += [edge[0] for edge in node.next_functions]
    root.backward()
    return order


@pytest.fixture(scope="module")
def backward():
    return Page("backward")


@pytest.mark.parametrize("seed", range(200))
def test_gradients_and_their_order_are_those_of_autograd(seed, backward):
    text = random_program(random.Random(seed))
    leaves = {
        n: torch.tensor(v, dtype=torch.float64, requires_grad=True) for n, v in LEAVES.items()
    }
    *lines, last = text.split("; ")
    namespace = {**FUNCTIONS, **leaves}
    exec("\n".join(lines), namespace)
    root = eval(last, namespace)
    found = backward("gradients", text, LEAVES)
    assert found["value"] == pytest.approx(root.item(), rel=1e-10), text
    assert found["order"] == order_of_nodes(root), text
    ours = {name: leaf.grad.item() for name, leaf in leaves.items() if leaf.grad is not None}
    assert found["grads"] == pytest.approx(ours, rel=1e-9, abs=1e-12), text


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "expected a value at the end"),
        ("a +", "expected a value at the end"),
        ("a * * b", 'expected a value instead of "*"'),
        ("(a + b", 'expected ")" at the end'),
        ("a b", 'did not expect "b"'),
        ("sin(a)", "no function sin: there are tanh, exp, log, relu, sigmoid"),
        ("a.item()", "no method item: there are tanh, exp, log, relu, sigmoid"),
        ("a # b", 'cannot read "#" at character 2'),
        ("2 * 3", "the last line needs an op on a variable"),
        ("constructor", "the last line needs an op on a variable"),
    ],
)
def test_what_the_parser_cannot_read_it_says(text, message, backward):
    said = backward("((text) => { try { parse(text) } catch (e) { return e.message } })", text)
    assert said == message


@pytest.mark.parametrize(
    "text", ["2**3**2 * a", "-2**2 * a", "a - 1 - 2", "a / 2 / 4", "2**-1 * a"]
)
def test_precedence_is_that_of_python(text, backward):
    assert backward("gradients", text, {"a": 1.5})["value"] == pytest.approx(eval(text, {"a": 1.5}))


@pytest.mark.parametrize("seed", range(30))
def test_the_picture_has_each_node_once_and_edges_go_on(seed, backward):
    text = random_program(random.Random(seed))
    picture = backward("((text) => layout(parse(text)))", text)
    places = [tuple(place) for place in picture["places"].values()]
    assert len(places) == len(set(places))
    for edge in picture["edges"]:
        layers = [layer for layer, _ in edge["points"]]
        assert layers == list(range(layers[0], layers[-1] + 1))
        assert layers[0] < layers[-1]
        assert edge["points"][0] == picture["places"][str(edge["from"])]
        assert edge["points"][-1] == picture["places"][str(edge["to"])]


# -------------------------------------------------------------------------------------------- tiles
TILES = [
    (8, (2, 4, 8)),
    (12, (4, 4, 4)),
    (7, (3, 2, 5)),
    (5, (1, 1, 1)),
    (6, (6, 6, 6)),
    (9, (9, 2, 1)),
]
ORDERS = ("ijk", "ikj", "jik", "jki", "kij", "kji")


@pytest.fixture(scope="module")
def tiles():
    return Page("tiles")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n, sizes", TILES)
def test_tiles_compute_the_product_and_their_loads_are_counted(n, sizes, order, tiles):
    """Fast memory as a dict of held elements: an element that is used but not held is a load."""
    problem = {"n": n, "tile": dict(zip("ijk", sizes, strict=True)), "order": order}
    steps = tiles("schedule", problem)
    a, b = np.arange(n * n).reshape(n, n), np.arange(n * n).reshape(n, n)[::-1] - 7
    c, held, started = np.zeros_like(a), {"A": set(), "B": set(), "C": set()}, set()
    counts = dict.fromkeys(("A", "B", "C", "store"), 0)
    for step in steps[:-1]:
        i, j, k = (slice(*step["ranges"][axis]) for axis in "ijk")
        c[i, j] += a[i, k] @ b[k, j]
        for name, part in {"A": (i, k), "B": (k, j), "C": (i, j)}.items():
            used = {tuple(index) for index in np.argwhere(mask(n, part))}
            fresh = used - held[name]
            if name == "C":
                counts["store"] += len(held["C"] - used)
                fresh &= started
                started |= used
            counts[name] += len(fresh)
            held[name] = used
    counts["store"] += len(held["C"])
    sums = tiles("moved", problem)
    assert (c == a @ b).all()
    assert {name: sums[name] for name in counts} == counts
    assert sums["multiplies"] == n**3
    assert sums["moved"] == sum(counts.values())
    assert tiles("intensity", sums) == pytest.approx(2 * n**3 / (4 * sum(counts.values())))
    assert tiles("needed", problem) == {
        name: max(len(np.argwhere(mask(n, part))) for part in parts_of(steps, rows))
        for name, rows in {"A": "ik", "B": "kj", "C": "ij"}.items()
    }


def mask(n: int, part: tuple) -> np.ndarray:
    chosen = np.zeros((n, n), bool)
    chosen[part] = True
    return chosen


def parts_of(steps: list, axes: str) -> list[tuple]:
    return [tuple(slice(*step["ranges"][axis]) for axis in axes) for step in steps[:-1]]


def test_loads_fall_with_the_size_of_tiles_as_the_formula_says(tiles):
    """With k innermost: n³/tj loads of A, n³/ti of B, and each element of C is stored once."""
    sums = tiles("moved", {"n": 16, "tile": {"i": 4, "j": 8, "k": 2}, "order": "ijk"})
    assert (sums["A"], sums["B"], sums["C"], sums["store"]) == (16**3 // 8, 16**3 // 4, 0, 16**2)


# -------------------------------------------------------------------------------------- convolution
def random_problem(rng: random.Random) -> dict:
    return {
        "transposed": rng.random() < 0.5,
        "size": rng.randint(3, 8),
        "kernel": rng.randint(1, 4),
        "stride": rng.randint(1, 3),
        "padding": rng.randint(0, 3),
        "dilation": rng.randint(1, 3),
        "outputPadding": rng.randint(0, 2),
    }


def convolved(problem: dict, x: Any, w: Any) -> Any:
    options = {name: problem[name] for name in ("stride", "padding", "dilation")}
    if problem["transposed"]:
        options["output_padding"] = problem["outputPadding"]
        return torch.nn.functional.conv_transpose2d(x, w, **options)
    return torch.nn.functional.conv2d(x, w, **options)


@pytest.fixture(scope="module")
def convolution():
    return Page("convolution")


@pytest.mark.parametrize("seed", range(80))
def test_convolutions_are_those_of_the_package(seed, convolution):
    """Values and sizes; taps and reach by the gradients of single outputs."""
    rng = random.Random(seed)
    problem = random_problem(rng)
    size, kernel = problem["size"], problem["kernel"]
    x = torch.tensor([[rng.randint(0, 9) for _ in range(size)] for _ in range(size)]).double()
    w = torch.tensor([[rng.choice([-3, -1, 2, 4]) for _ in range(kernel)] for _ in range(kernel)])
    w = w.double()
    x.requires_grad_()
    if convolution("refusal", problem) is not None:
        with pytest.raises(RuntimeError):
            convolved(problem, x[None, None], w[None, None])
        return
    y = convolved(problem, x[None, None], w[None, None])[0, 0]
    assert list(y.shape) == [convolution("outputSize", problem)] * 2, problem
    assert y.tolist() == convolution("convolve", problem, x.tolist(), w.tolist()), problem
    reached: dict[tuple, dict] = {}
    for at in rng.sample([(r, c) for r in range(len(y)) for c in range(len(y))], min(9, y.numel())):
        (grad,) = torch.autograd.grad(y[at], x, retain_graph=True)
        taps = np.zeros((size, size))
        for tap in convolution("tapsOf", problem, at):
            if tap["inside"]:
                taps[tuple(tap["input"])] += w[tuple(tap["tap"])].item()
        assert (grad.numpy() == taps).all(), (problem, at)
        reached[at] = grad
    for at in rng.sample([(r, c) for r in range(size) for c in range(size)], 5):
        reach = {tuple(r["output"]): r["tap"] for r in convolution("reachOf", problem, at)}
        for output, grad in reached.items():
            assert (grad[at].item() != 0) == (output in reach), (problem, at, output)
            if output in reach:
                assert w[tuple(reach[output])].item() == grad[at].item()


@pytest.mark.parametrize("seed", range(20))
def test_the_matrix_of_taps_times_the_kernel_is_the_output(seed, convolution):
    rng = random.Random(seed)
    problem = random_problem(rng)
    if convolution("refusal", problem) is not None:
        return
    x = np.arange(problem["size"] ** 2.0).reshape([problem["size"]] * 2)
    w = np.arange(problem["kernel"] ** 2.0) - 3
    rows = convolution("unrolled", problem)
    count = convolution("outputSize", problem)
    y = np.zeros((count, count))
    for i, row in enumerate(rows):
        for weight, at in zip(w, row, strict=True):
            if at is None:
                continue
            if problem["transposed"]:
                y[tuple(at)] += weight * x.flat[i]
            else:
                y.flat[i] += weight * x[tuple(at)]
    kernel = w.reshape([problem["kernel"]] * 2).tolist()
    assert y.tolist() == convolution("convolve", problem, x.tolist(), kernel)


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_groups_connect_the_channels_that_they_connect_in_a_module(groups, transposed, convolution):
    kind = torch.nn.ConvTranspose2d if transposed else torch.nn.Conv2d
    module = kind(4, 4, 3, groups=groups, bias=False)
    torch.nn.init.ones_(module.weight)
    problem = {"inputs": 4, "outputs": 4, "groups": groups, "kernel": 3, "transposed": transposed}
    found = convolution("channelsOf", problem)
    assert found["shape"] == list(module.weight.shape)
    pairs = []
    for i in range(4):
        x = torch.zeros(1, 4, 5, 5)
        x[0, i] = 1
        pairs += [[i, o] for o in range(4) if module(x)[0, o].abs().sum() > 0]
    assert found["pairs"] == pairs


# -------------------------------------------------------------------------------------------- cache
def lru(lines: list[int], sets: int, ways: int) -> list[bool]:
    """Whether each line hits: by the time of its last use, which the page does not keep."""
    used: dict[int, int] = {}
    hits = []
    for now, line in enumerate(lines):
        hits.append(line in used)
        used[line] = now
        same = [other for other in used if other % sets == line % sets]
        if len(same) > ways:
            del used[min(same, key=used.__getitem__)]
    return hits


def addresses(problem: dict) -> list[tuple[str, int]]:
    """(matrix, address) of each access, from loops over strided arrays."""
    n, width, line = problem["n"], problem["n"] + problem["pad"], problem["line"]
    start = -(-n * width // line) * line
    a, b, c = (np.arange(n * width).reshape(n, width) + m * start for m in range(3))
    found = []
    order = problem["order"]
    for index in np.ndindex(*(n,) * len(order)):
        at = dict(zip(order, index, strict=True))
        if problem["program"] == "sum":
            found.append(("A", a[at["i"], at["j"]]))
        else:
            found.append(("A", a[at["i"], at["k"]]))
            found.append(("B", b[at["k"], at["j"]]))
            found.append(("C", c[at["i"], at["j"]]))
    return [(name, int(address)) for name, address in found]


@pytest.fixture(scope="module")
def cache():
    return Page("cache")


CACHES = [(1, 1, 8), (4, 4, 2), (4, 8, 1), (8, 2, 4), (2, 1, 1)]  # line, sets, ways


@pytest.mark.parametrize("order", [*ORDERS, "ij", "ji"])
@pytest.mark.parametrize("line, sets, ways", CACHES)
@pytest.mark.parametrize("n, pad", [(6, 0), (8, 1), (5, 3)])
def test_misses_are_those_of_an_lru_cache(n, pad, line, sets, ways, order, cache):
    problem = {"program": "sum" if len(order) == 2 else "product", "order": order}
    problem |= {"n": n, "pad": pad, "line": line, "sets": sets, "ways": ways}
    accesses = addresses(problem)
    shown = cache("trace", problem)
    assert [(access["name"], access["address"]) for access in shown] == accesses
    lines = [address // line for _, address in accesses]
    hits, associative = lru(lines, sets, ways), lru(lines, 1, sets * ways)
    seen: set[int] = set()
    wanted = []
    for hit, would, number in zip(hits, associative, lines, strict=True):
        miss = "cold" if number not in seen else "conflict" if would else "capacity"
        wanted.append("hit" if hit else miss)
        seen.add(number)
    assert cache("verdicts", problem) == wanted
    counts = cache("counts", problem)
    for name in counts:
        said = [kind for kind, (owner, _) in zip(wanted, accesses, strict=True) if owner == name]
        assert counts[name] == {k: said.count(k) for k in ("hit", "cold", "capacity", "conflict")}


@pytest.mark.parametrize("order", [*ORDERS, "ij", "ji"])
def test_the_innermost_loop_moves_by_the_stride_that_is_said(order, cache):
    problem = {"program": "sum" if len(order) == 2 else "product", "order": order, "n": 5, "pad": 2}
    accesses = addresses(problem | {"line": 4})
    names = list(dict.fromkeys(name for name, _ in accesses))
    first, second = accesses[: len(names)], accesses[len(names) : 2 * len(names)]
    moved = {a[0]: b[1] - a[1] for a, b in zip(first, second, strict=True)}
    assert cache("innermostSteps", problem) == moved


def test_by_rows_each_line_is_loaded_once_by_columns_each_access_misses(cache):
    problem = {"program": "sum", "n": 16, "pad": 0, "line": 8, "sets": 1, "ways": 8}
    rows, columns = (cache("counts", problem | {"order": order})["A"] for order in ("ij", "ji"))
    assert rows == {"hit": 224, "cold": 32, "capacity": 0, "conflict": 0}
    assert columns == {"hit": 0, "cold": 32, "capacity": 224, "conflict": 0}
