"""`torch.quasirandom`: points that fill a cube more evenly than random ones do.

In each dimension the bits of a point's number choose which direction numbers are joined by XOR
(Sobol 1967, in the order of Antonov and Saleev 1979). The numbers are Joe and Kuo's, search
criterion D(6): https://web.maths.unsw.edu.au/~fkuo/sobol/
"""

from __future__ import annotations

from typing import Any

from tiny_torch._core import dtype as Dtype
from tiny_torch._core import get_default_dtype
from tiny_torch._core import int64 as INT64
from tiny_torch.functions.creation.from_data import tensor
from tiny_torch.functions.creation.ranges import arange
from tiny_torch.functions.random.draws import randint
from tiny_torch.functions.random.generator import Generator
from tiny_torch.tensor import Tensor

__all__ = ["SobolEngine"]

# Of each dimension but the first: a primitive polynomial over GF(2), its bits as a number, and as
# many numbers to begin with as its degree.
DIRECTIONS = """
    3:1 7:1,3 11:1,3,1 13:1,1,1 19:1,1,3,3 25:1,3,5,13 37:1,1,5,5,17 41:1,1,5,5,5 47:1,1,7,11,19
    55:1,1,5,1,1 59:1,1,1,3,11 61:1,3,5,5,31 67:1,3,3,9,7,49 91:1,1,1,15,21,21 97:1,3,1,13,27,49
    103:1,1,1,15,7,5 109:1,3,1,15,13,25 115:1,1,5,5,19,61 131:1,3,7,11,23,15,103
    137:1,3,7,13,13,15,69 143:1,1,3,13,7,35,63 145:1,3,5,9,1,25,53 157:1,3,1,13,9,35,107
    167:1,3,1,5,27,61,31 171:1,1,5,11,19,41,61 185:1,3,5,3,3,13,69 191:1,1,7,13,1,19,1
    193:1,3,7,5,13,19,59 203:1,1,3,9,25,29,41 211:1,3,5,13,23,1,55 213:1,3,7,3,13,59,17
    229:1,3,1,3,5,53,69 239:1,1,5,5,23,33,13 241:1,1,7,7,1,61,123 247:1,1,7,9,13,61,49
    253:1,3,3,5,3,55,33 285:1,3,1,15,31,13,49,245 299:1,3,5,15,31,59,63,97
    301:1,3,1,11,11,11,77,249 333:1,3,1,11,27,43,71,9 351:1,1,7,15,21,11,81,45
    355:1,3,7,3,25,31,65,79 357:1,3,1,1,19,11,3,205 361:1,1,5,9,19,21,29,157
    369:1,3,7,11,1,33,89,185 391:1,3,3,3,15,9,79,71 397:1,3,7,11,15,39,119,27
    425:1,1,3,1,11,31,97,225 451:1,1,1,3,23,43,57,177 463:1,3,7,7,17,17,37,71
    487:1,3,1,5,27,63,123,213 501:1,1,3,5,11,43,53,133 529:1,3,5,5,29,17,47,173,479
    539:1,3,3,11,3,1,109,9,69 545:1,1,1,5,17,39,23,5,343 557:1,3,1,5,25,15,31,103,499
    563:1,1,1,11,11,17,63,105,183 601:1,1,5,11,9,29,97,231,363 607:1,1,5,15,19,45,41,7,383
    617:1,3,7,7,31,19,83,137,221 623:1,1,1,3,23,15,111,223,83 631:1,1,5,13,31,15,55,25,161
    637:1,1,3,13,25,47,39,87,257
"""


def direction_numbers(dimension: int, bits: int) -> list[list[int]]:
    """The numbers of each dimension, (dimension, bits), the first of them with the highest bit."""
    found = [[1] * bits]
    for entry in DIRECTIONS.split()[: dimension - 1]:
        polynomial, _, numbers = entry.partition(":")
        coefficients = [int(bit) for bit in f"{int(polynomial):b}"[1:]]
        row = [int(number) for number in numbers.split(",")]
        degree = len(row)
        while len(row) < bits:
            following = row[-degree]
            for k, coefficient in enumerate(coefficients, 1):
                following ^= coefficient * row[-k] << k
            row.append(following)
        found.append(row)
    return [[number << bits - 1 - j for j, number in enumerate(row)] for row in found]


class SobolEngine:
    """Draws points of a Sobol sequence in [0, 1)^dimension, one after the other.

    `scramble` shifts and mixes the digits by the default generator, or one of that `seed` (Owen
    1998). NotImplementedError above 64 dimensions, where PyTorch has 21,201.
    Source: https://pytorch.org/docs/stable/generated/torch.quasirandom.SobolEngine.html

    >>> SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        known = 1 + len(DIRECTIONS.split())
        if dimension > known:
            raise NotImplementedError(
                f"SobolEngine: tiny_torch knows the direction numbers of {known} dimensions, not "
                f"of {dimension}"
            )
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = tensor(direction_numbers(dimension, self.MAXBIT), device="cpu")
        self.shift = tensor([0] * dimension, device="cpu")
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Dtype | None = None) -> Tensor:
        """The next `n` points, (n, dimension)."""
        dtype = get_default_dtype() if dtype is None else dtype
        points = self._points(self.num_generated, n)
        result = points.to(dtype) * 2.0**-self.MAXBIT
        if self.num_generated == 0 and n:
            result[0] = self._first_point[0].to(dtype)
        self._move_on(n)
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Tensor:
        """The next 2**m points; ValueError where those drawn are then no power of two."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Begins anew."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leaves out `n` points."""
        self._move_on(n)
        return self

    def _move_on(self, n: int) -> None:
        self.num_generated += n
        if self.num_generated:
            self.quasi = self._points(self.num_generated - 1, 1)[0]

    def _points(self, first: int, count: int) -> Tensor:
        """Points as integers below 2**MAXBIT, int64 (count, dimension)."""
        number = arange(first, first + count, device="cpu")
        chosen = (number ^ (number >> 1))[:, None]  # the Gray code: from one to the next, one bit
        points = self.shift.expand(count, self.dimension)
        for bit in range(self.MAXBIT):
            points = points ^ (chosen >> bit & 1) * self.sobolstate[:, bit]
        return points

    def _scramble(self) -> None:
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        bits, size = self.MAXBIT, (self.dimension, self.MAXBIT)
        drawn = randint(2, size, generator=generator, dtype=INT64, device="cpu")
        self.shift = (drawn << arange(bits, device="cpu")).sum(-1)
        # A lower triangular matrix of bits for each dimension, with ones on the diagonal, times
        # the digits of its numbers.
        drawn = randint(2, (*size, bits), generator=generator, dtype=INT64, device="cpu")
        matrix = drawn.tril()
        matrix.diagonal(0, -2, -1).fill_(1)
        places = arange(bits - 1, -1, -1, device="cpu")
        digits = self.sobolstate[..., None] >> places & 1
        mixed = (digits[:, :, None, :] * matrix[:, None]).sum(-1) % 2
        self.sobolstate = (mixed << places).sum(-1)

    def __repr__(self) -> str:
        said = [f"dimension={self.dimension}"]
        said += ["scramble=True"] if self.scramble else []
        said += [] if self.seed is None else [f"seed={self.seed}"]
        return f"{type(self).__name__}({', '.join(said)})"
