"""Time of single ops next to PyTorch's: a million elements, and one row of ten for the overhead.

The target is 1.5 times PyTorch's time for a million elements.
"""

import re

from benchmarks.line import Line

N = 10**6
TARGET = 1.5
SMALL_TARGET = 1.0

# Tensors that the statements name: x, y normal; p in (0, 1]; i, j integers; k an index of the rows
# of m, which is x as a matrix; b bool.
PREPARE = """
x, y = torch.randn({n}), torch.randn({n})
p = torch.rand({n}).clamp(0.01)
i, j = torch.randint(1, 1000, ({n},)), torch.randint(1, 1000, ({n},))
b = x > 0
m = x.view(-1, {row})
k = torch.randint(0, m.shape[0], (m.shape[0],))
g = torch.randint(0, {row}, m.shape)
h = m.t()
z = torch.zeros({n})
"""

UNARY = {
    "x": "abs neg sign exp exp2 expm1 sin cos tan atan sinh tanh asinh sigmoid relu erf erfc floor "
    "ceil trunc round frac square reciprocal isnan isfinite isinf nan_to_num signbit i0 sinc "
    "deg2rad logical_not",
    "p": "sqrt rsqrt log log2 log10 log1p asin acos atanh erfinv lgamma digamma logit",
    "(p + 1)": "acosh",
    "i": "bitwise_not",
}
BINARY = {
    (
        "x",
        "y",
    ): "add sub mul div floor_divide remainder fmod atan2 hypot nextafter maximum minimum fmax "
    "fmin copysign logaddexp logaddexp2 eq lt logical_and xlogy heaviside",
    ("p", "x"): "pow float_power",
    ("i", "j"): "add mul floor_divide remainder gcd lcm bitwise_and eq",
}
OTHERS = {
    "elementwise": "torch.clamp(x, -1, 1)|torch.lerp(x, y, 0.3)|torch.addcmul(x, y, p)|"
    "torch.addcdiv(x, y, p)|x.half()|x.bfloat16()|x.long()|i.float()|x.double()|m + h.t()|x + 1|"
    "torch.ldexp(x, i % 8)|x.half() * x.half()",
    "where": "torch.where(b, x, y)|torch.where(b, x, 0.0)|x.masked_fill(b, 0.0)|torch.nonzero(b)",
    "reduction": "x.sum()|x.mean()|x.prod()|x.amax()|x.amin()|x.max()|x.argmax()|b.any()|b.all()|"
    "x.var()|x.std()|x.norm()|x.logsumexp(0)|x.nansum()|x.nanmean()|torch.aminmax(x)|"
    "torch.count_nonzero(i)|i.sum()|m.sum(0)|m.sum(1)|m.mean(0)|m.amax(0)|m.amax(1)|m.max(0)|"
    "m.max(1)|m.argmax(0)|m.argmax(1)|m.prod(0)|m.var(0)|m.var(1)|m.logsumexp(1)|h.sum(0)|"
    "m.softmax(1)|m.log_softmax(1)|torch.linalg.vector_norm(m, dim=1)|torch.dist(x, y)",
    "scan": "x.cumsum(0)|x.cumprod(0)|x.cummax(0)|x.cummin(0)|x.logcumsumexp(0)|m.cumsum(0)|"
    "m.cumsum(1)|m.cumprod(1)|m.cummax(0)|m.cummax(1)|m.logcumsumexp(1)|i.cumsum(0)|torch.diff(x)",
    "gather": "m.gather(1, g)|h.gather(0, g.t())|m.index_select(0, k)|x.take(i)|"
    "torch.take_along_dim(m, g, 1)|x.masked_select(b)",
    "scatter": "m.scatter(1, g, m)|m.scatter_add(1, g, m)|m.scatter_reduce(1, g, m, 'amax')|"
    "m.index_add(0, k, m)|m.index_copy(0, k, m)|m.index_fill(0, k, 0.0)|x.masked_scatter(b, y)|"
    "x.put(i, y)|torch.bincount(i)",
    "cat": "torch.cat([x, y])|torch.cat([m, m], 1)|torch.stack([x, y])|torch.stack([x, y], 1)|"
    "torch.hstack([m, m])|m.repeat(2, 1)|m.tile(1, 2)|x.repeat_interleave(2)|x.flip(0)|m.flip(1)|"
    "x.roll(7)|m.roll(3, 1)|m.tril()|h.contiguous()|m.rot90()",
    "sort": "x.sort()|m.sort(1)|m.sort(0)|x.argsort()|i.sort()|x.topk(10)|m.topk(5, 1)|"
    "x.kthvalue(1000)|x.median()|m.median(1)|i.unique()|i.unique_consecutive()|m.mode(1)|"
    "torch.searchsorted(p.sort().values, p)|torch.bucketize(x, x[:100].sort().values)|x.histc(50)|"
    "torch.isin(i, j[:100])|torch.quantile(x, 0.3)",
    "index": "x[i]|x[b]|m[k]|m[:, k[:100] % 1000]|m[k, k % 1000]|x[::2].clone()|m[:, 3].clone()|"
    "z.__setitem__(i, y)|z.__setitem__(b, 0.5)|z.__setitem__(slice(None, None, 2), 0.5)|"
    "z.index_put((i,), y, accumulate=True)",
}  # fmt: skip
SMALL = (
    "x + y|x * 2.5|x.exp()|x.sum()|x.amax()|m.sum(1)|x.cumsum(0)|m.gather(1, g)|"
    "m.index_select(0, k)|torch.cat([x, y])|torch.stack([x, y])|x.sort()|x.topk(3)|"
    "torch.where(b, x, y)|x[i % 10]|x[b]|x[2:5]|m.t()|x.view(2, 5)|x.reshape(5, 2)|x > 0|"
    "x.clone()|x.to(torch.float64)|torch.zeros(10)|m @ m.t()|x.softmax(0)|x.add_(0.0)|"
    "x.mean()|x.argmax()|x.unsqueeze(0)"
)


def moved(statement: str) -> str:
    """The bytes of operands and results; "0" where an op need not touch all of an operand."""
    if ":" in statement:
        return "0"
    operands = sorted({*re.findall(r"\b[xypijbmkghz]\b", statement)})
    return f"nbytes({', '.join([*operands, statement])})"


def make_lines() -> list[Line]:
    large, small = PREPARE.format(n=N, row=1000), PREPARE.format(n=10, row=5)
    statements = [
        ("elementwise", f"torch.{name}({operand})")
        for operand, names in UNARY.items()
        for name in names.split()
    ]
    statements += [
        ("elementwise", f"torch.{name}({left}, {right})")
        for (left, right), names in BINARY.items()
        for name in names.split()
    ]
    statements += [(family, s) for family, text in OTHERS.items() for s in text.split("|")]
    return [
        *[Line(f"{family}: `{s}`", TARGET, large, s, bytes=moved(s)) for family, s in statements],
        *[Line(f"small: `{s}`", SMALL_TARGET, small, s, number=200) for s in SMALL.split("|")],
    ]
