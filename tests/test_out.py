"""What `out=` promises beside its values: whose memory is written, and what is not."""

import pytest

DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_lies_beside_is_not_written(torch, dtype):
    for n in (1, 7, 8, 16, 24, 36, 64, 100):
        x = torch.arange(n).to(getattr(torch, dtype))
        for call in ("eq(x, x, out=o)", "ne(x, 1, out=o)", "signbit(x, out=o)"):
            around = torch.ones(n + 80, dtype=torch.bool)
            around[::3] = False
            before = around.clone()
            before[8 : n + 8] = eval("torch." + call, {"torch": torch, "x": x, "o": None})
            eval("torch." + call, {"torch": torch, "x": x, "o": around[8 : n + 8]})
            assert torch.equal(around, before), (call, n)
