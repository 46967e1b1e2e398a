"""The differences from PyTorch that have a reason: name, sample and difference as patterns."""

from __future__ import annotations

import re

from sweeps import sweep_explained_linalg as linalg
from sweeps import sweep_explained_training as training

EXPLAINED: list[tuple[str, str, str, str]] = [
    (
        r"torch\.(Tensor\.)?mode",
        "special values",
        r"\d+ of \d+ values, such as",
        "PyTorch's mode sorts by <, which orders no NaN: its answer depends on where they stand",
    ),
    (
        r"torch\.(Tensor\.)?resize_(as_)?",
        "broadcast",
        "values, such as",
        "resize_ beyond the memory makes it larger: what is new there has no values yet",
    ),
    (
        r"torch\.(Tensor\.)?(addmv_|baddbmm_)",
        "broadcast",
        "^raised RuntimeError.unsupported operation: more than one element of the written-to",
        "PyTorch adds the products of all rows into the one that an expanded tensor has; addmm_, "
        "addbmm_ and addr_ refuse it there, as all of ours do",
    ),
    (
        r"torch\.(linalg\.)?matmul",
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
        r"^raised NotImplementedError..addmm_impl_cpu_. not implemented for 'Bool'",
        "PyTorch's inner of bool vectors raises this, too, if they are contiguous",
    ),
    (
        r"torch\.from_numpy",
        r"uint16",
        "^raised TypeError.can't convert np.ndarray of type numpy.uint16",
        "uint16 is a dtype that PyTorch has and we do not",
    ),
    (
        r"torch\.chalf",
        r"chalf ",
        r"^raised AttributeError.torch\.Tensor\.chalf is not in tiny_torch",
        "PyTorch's samples call the method, which makes complex tensors; torch.chalf is a dtype",
    ),
    (
        r"torch\.Tensor\.detach_",
        r"`x\[0\]\.detach_\(\)` (bool|u?int\d+) ",
        "^nothing raised, PyTorch: RuntimeError.Can't detach views in-place",
        "PyTorch protects the history that a view shares with its base; integers have none, so "
        "that views of them know no base here",
    ),
    (
        r"torch\.cuda\.set_device",
        r"set_device\((0|'cuda:1')\)",
        "^raised AssertionError.Torch not compiled with CUDA.*has no attribute '_cuda_setDevice'",
        "PyTorch's build for the CPU fails at a function that it lacks; ours says what torch.cuda "
        "says of every other call",
    ),
    (
        r"torch\.autograd\.gradgradcheck",
        r"lambda a: a > 0",
        r"^nothing raised, PyTorch: TypeError.<lambda>\(\) missing 1 required positional argument",
        "PyTorch takes args[:-n] for n differentiable outputs, which for none is no argument at "
        "all: the TypeError is its own",
    ),
    (
        r"torch\.(func\.functional_call|nn\.Module\.float)",
        r"\.float\(\).* float64",
        r"^gradient: of leaf 0: \d+ of (5|60) values",
        "the sample computes in float32, and its gradient is compared as the float64 it is cast to",
    ),
    (
        r"torch\.func\.(grad|grad_and_value|jacrev)",
        r"prod\(\).* permuted",
        r"^strides \(\d, \d\), not \(\d, \d\) of \(4, 4\)$",
        "PyTorch's transforms lay one gradient of prod out in two ways, as (4, 1) in grad and as "
        "(1, 4) in jacrev; ours is autograd.grad's (1, 4), and in jacrev rows one below the other",
    ),
    (
        r"torch\.func\.hessian",
        r"lambda a: a \* 2\)",
        r"^strides \(5, 1, 25\), not \(5, 1, 0\) of \(5, 5, 5\)$",
        "PyTorch expands the zeros of a second derivative that is not there; ours are stored",
    ),
    (
        r"torch\.(func\.)?vmap",
        "",
        r"^strides ",
        "ours stacks the results of samples one below the other; PyTorch's batch keeps the layout "
        "of the input",
    ),
    (
        r"torch\.func\.linearize",
        "",
        r"^(second )?gradient: ",
        "PyTorch's linear function is a trace with constants, without a gradient by the primals; "
        "ours has one",
    ),
    (
        r"torch\.func\.(jacfwd|hessian|linearize)",
        r"float32 broadcast$",
        "^nothing raised, PyTorch: RuntimeError.unsupported operation: more than one element",
        "PyTorch's forward mode writes tangents into the layout of the input and so refuses one "
        "that is expanded; its jacrev, and ours, take it",
    ),
    (
        r"torch\.func\.(jacfwd|hessian)",
        r"lambda a: (a \* 2|\(a \* a\)\.sum\(\)|\(a\[0\] \* w\)\.sum\(\))\)|lambda a, c: ",
        r"^(second )?gradient: none of the results require grad(, it is 0)?$",
        "a derivative that does not depend on the input: PyTorch's forward mode records a gradient "
        "of zeros for it, its jacrev, as all of ours, none",
    ),
    (
        ".*",
        "",
        r"strides .* of \((.*\b)?0\b.*\)$",
        "strides of a result without elements lead nowhere",
    ),
    (
        r"torch\.(Tensor\.)?(clamp|clip)_?",
        r"case .* \(\(1, 9\), \(3, 5, 9\), \(\)\)",
        "with grad: nothing raised, PyTorch: .*doesn't match the broadcast shape",
        "PyTorch's backward of clamp fails where both bounds broadcast to more than the input",
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
        r"torch\.(Tensor\.|special\.)?(digamma|psi|lgamma|gammaln|polygamma)_?",
        r"case .* float64",
        "gradient: of leaf 0",
        "PyTorch's trigamma has a relative error of 5e-10 in float64; ours 1e-15 (50 digits)",
    ),
    (
        r"torch\.nn\.functional\.interpolate",
        r"bi(linear|cubic) uint8",
        r"values, such as",
        "PyTorch's weights for uint8 are integers of at most 16 bits: ties are rounded down",
    ),
    (
        r"torch\.(Tensor\.)?cum(max|min)",
        r"\([\d, ]*\b0\b[\d, ]*\)",
        "^second gradient: none of the results require grad, it is 0$",
        "of no elements PyTorch records a second gradient of zeros; ours is not recorded",
    ),
    (
        r"torch\.(Tensor\.)?scatter_reduce_?",
        r"prod float16",
        r"^second gradient: of leaf 1: .* such as \[0\.0\], not ",
        "products of the other elements are rounded once; PyTorch's are quotients of float16",
    ),
    (
        r"torch\.nn\.functional\.poisson_nll_loss",
        r"float16 sample 4 .* log_input=False full=True reduction='none'",
        r"^1 of 5 values, such as \[2\.0214\d*\], not \[2\.039\d*\]",
        "rounded once, from float32; PyTorch rounds seven times",
    ),
    (
        r"torch\.(nn\.functional\.)?cosine_similarity",
        r"bfloat16 sample 2 .*eps=0\.5",
        r"^1 of 1 values, such as \[0\.020385\d*\], not \[0\.0196\d*\]",
        "rounded once, from float32; PyTorch rounds both vectors' quotients to bfloat16 first",
    ),
    (
        r"torch\.linalg\.norm",
        r"subgradients_at_zero",
        r"^second gradient: of leaf 0: .* such as \[-?0\.0.*, not \[nan",
        "at 0, where the norm has a kink, ours is 0 and PyTorch's is 0 / 0",
    ),
    (
        r"torch\.linalg\.vector_norm",
        r"float16\[\]\) ord=",
        r"second gradient: .* such as \[-?0\.0\], not ",
        "the norm of one number is its distance from 0, whose second derivative is 0; PyTorch's is "
        "what its float16 terms leave",
    ),
    (
        r"torch\.(Tensor\.|special\.)?(mvlgamma_?|multigammaln)",
        r"float64",
        "second gradient: of leaf 0",
        "PyTorch's trigamma has a relative error of 5e-10 in float64; ours 1e-15 (50 digits)",
    ),
    (
        r"torch\.(Tensor\.|special\.)?polygamma_?",
        r"float32\[5, 5\], 1\)  broadcast",
        r"such as \[412\.744.*, not \[412\.752",
        "PyTorch's trigamma has a relative error up to 2e-5 below 0 in float32; ours 3e-8",
    ),
    (
        r"torch\.(Tensor\.|special\.)?polygamma",
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
        r"torch\.(Tensor\.|special\.)?polygamma",
        "special values",
        r"1 of 25 values, such as \[-?0\.0\], not \[nan\]",
        "polygamma(n, inf) is 0, its limit; PyTorch's NaN",
    ),
    (
        r"torch\.(Tensor\.|special\.)?i[01]_?",
        "special values",
        r"1 of 5 values, such as \[-?inf\], not \[nan\]",
        "i0 and i1 grow to infinity; PyTorch's quotient of two infinities is NaN",
    ),
    (
        r"torch\.special\.i1",
        "float16",
        "^with grad: nothing raised, PyTorch: NotImplementedError..i1_backward. not implemented",
        "PyTorch has no i1_backward for float16",
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
    # --------------------------------------------------------------- linear algebra, distributions
    (
        r"torch\.(linalg\.|Tensor\.)?matrix_exp",
        r" b?float16 ",
        r"values, .* not \[nan",
        "PyTorch's matrix_exp of half types is NaN; of the identity, too",
    ),
    (
        r"torch\.((linalg|Tensor)\.)?(slog|log)det",
        r"float32\[5, 5\]\)  broadcast",
        r"^gradient: .* such as \[nan, nan, nan\], not",
        "a matrix of equal rows is singular: there, log |det| has no gradient",
    ),
    (
        r"torch\.distributions\.Binomial",
        r"sample\(.* (bool|u?int\d+) ",
        r"PyTorch ValueError\(binomial only supports floating-point",
        "torch.binomial refuses counts and probabilities of two dtypes first",
    ),
    (
        r"torch\.distributions\.GeneralizedPareto",
        r"(log_prob|cdf).* (b?float16|float64) ",
        r"nothing raised, PyTorch: RuntimeError\(\w+ did not match Float",
        "PyTorch compares the concentration with a float32 number, which isclose refuses",
    ),
    (
        r"torch\.distributions\.Kumaraswamy",
        r"\.mode` ",
        r".",
        "PyTorch's log1p(-concentration0) is NaN from 1 on: its mode does not exist where it does",
    ),
    (
        r"torch\.distributions\.Wishart",
        r"rsample\(",
        r"nothing raised, PyTorch: RuntimeError\(one of the variables needed",
        "PyTorch mends draws in place, by a mask that it changes afterwards",
    ),
    (
        r"torch\.distributions\.Multinomial",
        r"entropy.* bfloat16 ",
        r"dtype bfloat16, not float32",
        "PyTorch's lgamma of a count is a float32 number",
    ),
    (
        r"torch\.distributions\.RelaxedOneHotCategorical",
        r"log_prob.* bfloat16 ",
        r"within the support",
        "a draw in bfloat16 sums to 1 by chance",
    ),
    (
        r"torch\.vander",
        "float(32|64)",
        "with grad: nothing raised, PyTorch: .*modified by an inplace operation",
        "PyTorch's vander overwrites what its own backward needs",
    ),
]
PATTERNS = [
    (re.compile(name), re.compile(where), re.compile(difference), why)
    for name, where, difference, why in EXPLAINED + linalg.EXPLAINED + training.EXPLAINED
]
# Numbers that differ by rounding, which has a reason to be large; up to this part of the largest.
CLOSE: list[tuple[str, str, float, str]] = [
    (
        r"torch\.distributions\.(Beta|Chi2|Dirichlet|FisherSnedecor|(Inverse)?Gamma|StudentT)",
        r"rsample.* float64 contiguous gradient: ",
        2e-3,
        "PyTorch's gradients of gamma and Dirichlet draws are good to 3 digits; ours are exact "
        "series, good to 10 (mpmath, 40 digits)",
    ),
    (
        r"torch\.distributions\.(Beta|Chi2|Dirichlet|FisherSnedecor|(Inverse)?Gamma|Kumaraswamy|"
        r"StudentT|kl_divergence)",
        r"(log_prob|entropy|mean|variance|stddev|Gamma).* float64 contiguous (second )?gradient: ",
        3e-9,
        "PyTorch's trigamma has a relative error of 5e-10 in float64; ours 1e-15 (mpmath)",
    ),
    (
        r"torch\.distributions\.(Bernoulli|Binomial|Geometric)",
        r"logits=v.* int64 broadcast \d of \d values",
        3e-5,
        "1 - sigmoid(6) magnifies the last digit of sigmoid(6) in float32; ours is the nearer",
    ),
    (
        r"torch\.distributions\.(Multinomial|RelaxedOneHotCategorical)",
        r"(entropy|log_prob).* float64 contiguous \d of \d values",
        2e-8,
        "PyTorch's lgamma of a count is a float32 number",
    ),
    (
        r"torch\.distributions\.Multinomial",
        r"(entropy|log_prob).* (int64 broadcast|b?float16 contiguous) \d of \d values",
        0.15,
        "terms that cancel are of another order; a half sum is rounded once",
    ),
    (
        r"torch\.distributions\.ContinuousBernoulli",
        r"entropy.* b?float16 ",
        0.3,
        "terms of 0.7 cancel down to 0.01, in halves",
    ),
    (
        r"torch\.distributions\.kl_divergence",
        r"Geometric\(0\.2\)\)` float64 contiguous \d of \d values",
        1e-7,
        "a number is float32: log1p(-0.2) lies halfway between two float32 numbers",
    ),
]


def reason(name: str, where: str, difference: str) -> str | None:
    """Why a sample of a name may differ as it does; None if it may not."""
    for names, places, differences, why in PATTERNS:
        if names.fullmatch(name) and places.search(where) and differences.search(difference):
            return why
    for name_pattern, pattern, part, why in CLOSE + training.CLOSE:
        said = f"{where} {difference}"
        if re.fullmatch(name_pattern, name) and re.search(pattern, said, re.S):
            return why if close(difference, part) else None
    return None


def close(difference: str, part: float) -> bool:
    """Whether the numbers that a difference shows are so close to PyTorch's."""
    lists = re.search(r"such as \[(.*)\], not \[(.*)\]", difference)
    if lists is None:
        return False
    ours, theirs = [[float(x) for x in text.split(", ")] for text in lists.groups()]
    limit = part * max(map(abs, theirs))
    return all(abs(x - y) <= limit for x, y in zip(ours, theirs, strict=True))
