"""The differences from PyTorch that have a reason: name, sample and difference as patterns."""

from __future__ import annotations

import re

EXPLAINED: list[tuple[str, str, str, str]] = [
    (
        r"torch\.(Tensor\.)?(u?int\d*|long|short|char|byte|to|type)",
        "special values",
        "values, such as",
        "NaN and infinity have no integer: C++ leaves open what the cast gives",
    ),
    (
        r"torch\.(Tensor\.)?mode",
        "special values",
        r"\d+ of \d+ values, such as",
        "PyTorch's mode sorts by <, which orders no NaN: its answer depends on where they stand",
    ),
    (
        r"torch\.Tensor\.resize_",
        "broadcast",
        "values, such as",
        "resize_ beyond the memory makes it larger: what is new there has no values yet",
    ),
    (
        r"torch\.Tensor\.(addmv_|baddbmm_)",
        "broadcast",
        "^raised RuntimeError.unsupported operation: more than one element of the written-to",
        "PyTorch adds the products of all rows into the one that an expanded tensor has; addmm_, "
        "addbmm_ and addr_ refuse it there, as all of ours do",
    ),
    (
        r"torch\.matmul",
        r"\[10\], \w+\[10, 5\]\)  out strided",
        r"^strides \(2,\), not \(1,\) of \(5,\)$",
        "PyTorch resizes a strided out of vector @ matrix to (1, 5) and back, so that it no longer "
        "lies where it was given; ours stays there",
    ),
    (
        r"torch\.(Tensor\.)?addmm",
        "case 'addmm of empty (1 1|2 -1)' bool",
        "^nothing raised, PyTorch: RuntimeError.result type Long can't be cast to the desired",
        "of bool matrices with an inner size of 0, PyTorch multiplies the input by beta, an int, "
        "which gives integers; with beta=True it answers what ours does",
    ),
    (
        r"torch\.(Tensor\.)?inner",
        "case 'inner' bool .* (broadcast|stepped slice)",
        r"^raised NotImplementedError..matmul. is not implemented for bool",
        "PyTorch's inner of bool vectors raises this, too, if they are contiguous",
    ),
    (
        ".*",
        "",
        r"strides .* of \((.*\b)?0\b.*\)$",
        "strides of a result without elements lead nowhere",
    ),
    (
        r"torch\.(Tensor\.)?(clamp|clip)",
        r"case .* \(\(1, 9\), \(3, 5, 9\), \(\)\)",
        "with grad: nothing raised, PyTorch: .*doesn't match the broadcast shape",
        "PyTorch's backward of clamp fails where both bounds broadcast to more than the input",
    ),
    (
        r"torch\.Tensor\.(amax|amin|aminmax|bernoulli|multinomial)",
        r"wrong .* out=",
        r"PyTorch TypeError\(\w+\(\) (got an unexpected keyword .*'out'|received an invalid)",
        "these methods are the functions themselves, and take the functions' out=, too",
    ),
    (
        r"torch\.(Tensor\.)?(nan)?median",
        r"int64 \(\(0,\),\)",
        "raised RuntimeError.*there is no median of no elements",
        "PyTorch casts NaN to an integer, which C++ leaves open; we say that there is no median",
    ),
    (
        r"torch\.((Tensor\.)?(nan)?median|return_types)",
        r"(dim=0|`x\.median\(0\)).* broadcast",
        "values, such as",
        "PyTorch's median along an expanded dim reads what is not the tensor's: torch.median("
        "torch.tensor([[3, 5, 1]]).expand(3, 3), 0) is not [3, 5, 1]",
    ),
    (
        r"torch\.return_types",
        r"`x\.kthvalue\(1, 0\)\.values` .* broadcast",
        "gradient: ",
        "which of equal elements PyTorch's kthvalue takes is unspecified; ours is the first",
    ),
    (
        r"torch\.(Tensor\.)?norm",
        r"nuc .* broadcast",
        "gradient: ",
        "the nuclear norm has no gradient at a matrix of equal rows, whose singular vectors are "
        "not unique",
    ),
    (
        r"torch\.(linalg\.|Tensor\.)?cross",
        r"\(\(3,\), \(3,\)\) broadcast",
        r"such as \[0\.0, 0\.0, 0\.0\], not",
        "a vector's product with itself is 0; PyTorch's, which fuses one of two products, is not",
    ),
    (
        r"torch\.(Tensor\.)?(digamma|lgamma|polygamma)_?",
        r"case .* float64",
        "gradient: of leaf 0",
        "PyTorch's trigamma has a relative error of 5e-10 in float64; ours 1e-15 (50 digits)",
    ),
    (
        r"torch\.(Tensor\.)?polygamma_?",
        r"float32\[5, 5\], 1\)  broadcast",
        r"such as \[412\.744.*, not \[412\.752",
        "PyTorch's trigamma has a relative error up to 2e-5 below 0 in float32; ours 3e-8",
    ),
    (
        r"torch\.(Tensor\.)?polygamma",
        r"u?int\d+\[.*, 1\)",
        r"values, such as \[inf(, inf)*\], not \[\d",
        "trigamma is infinite at the integers below 1; PyTorch's sine of pi is not 0 there",
    ),
    (
        r"torch\.(Tensor\.)?logcumsumexp",
        r"float(16|32)\[5, 5, 5\]",
        "gradient: of leaf 0",
        "PyTorch's gradient goes through the logarithm of the incoming one and the difference of "
        "two such sums; ours is nearer to float64's by one to three digits",
    ),
    (
        r"torch\.(Tensor\.)?polygamma",
        "special values",
        r"1 of 25 values, such as \[-?0\.0\], not \[nan\]",
        "polygamma(n, inf) is 0, its limit; PyTorch's NaN",
    ),
    (
        r"torch\.(Tensor\.)?logaddexp",
        "float16",
        r"second gradient: .* not \[(nan|nan, nan)\]",
        "PyTorch's second gradient of logaddexp overflows in float16",
    ),
    (
        r"torch\.(std|var)_mean",
        r"special values",
        r"such as \[-inf, inf\], not \[nan, nan\]",
        "the mean of an infinity is infinite, as torch.mean says; var_mean's running mean is NaN",
    ),
    (
        r"torch\.Tensor\.logical_(not|and|or|xor)_",
        "",
        r"^gradient: of leaf 0: .* such as \[-?0\.0(, -?0\.0)*\], not",
        "a truth value has gradient 0; PyTorch leaves the history of what it overwrites",
    ),
    (
        r"torch\.Tensor\.round_",
        r"round (decimals|tens)' (bool|int64) .* broadcast",
        "raised NotImplementedError.*, PyTorch RuntimeError.*more than one element",
        "both refuse integers and expanded tensors: which of the two is said first",
    ),
]
PATTERNS = [
    (re.compile(name), re.compile(where), re.compile(difference), why)
    for name, where, difference, why in EXPLAINED
]


def reason(name: str, where: str, difference: str) -> str | None:
    """Why a sample of a name may differ as it does; None if it may not."""
    for names, places, differences, why in PATTERNS:
        if names.fullmatch(name) and places.search(where) and differences.search(difference):
            return why
    return None
