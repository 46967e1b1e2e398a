SCORES = "scores = (q * scale) @ k.transpose(-2, -1)"
FUTURE = "ones.triu(1) != 0"
MASK = 'scores = scores + mask if added else scores.masked_fill(~mask, float("-inf"))'
LAST = "return scores.masked_fill(blind, 0.0).softmax(-1).masked_fill(blind, 0.0)"
MUTANTS = {
    "no scale": (SCORES, SCORES.replace("(q * scale)", "q")),
    "the scale behind the mask": (
        MASK,
        'scores = scores / scale + mask if added else scores.masked_fill(~mask, float("-inf"))\n'
        "    scores = scores * scale if added else scores",
    ),
    "itself is hidden": (FUTURE, "ones.triu(0) != 0"),
    "the past is hidden": (FUTURE, "ones.tril(-1) != 0"),
    "counted from the last": (FUTURE, "ones.triu(1 + k.shape[-2] - q.shape[-2]) != 0"),
    "never causal": ("if causal:", "if False:"),
    "a mask hides": (MASK, MASK.replace("~mask", "mask")),
    "hidden keys get 0, not -inf": (MASK, MASK.replace('float("-inf")', "0.0")),
    "along the queries": (
        "if mask is None:\n        return scores.softmax(-1)",
        "if mask is None:\n        return scores.softmax(-2)",
    ),
    "blind rows are nan": (LAST, "return scores.softmax(-1)"),
    "nan is replaced afterwards": (LAST, "return scores.softmax(-1).masked_fill(blind, 0.0)"),
    "blind rows share evenly": (LAST, "return scores.masked_fill(blind, 0.0).softmax(-1)"),
}
