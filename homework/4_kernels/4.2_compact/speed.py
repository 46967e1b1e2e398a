import tiny_torch as torch


def cases():
    x = torch.randn(2048, 2048)
    yield "a transpose, 2048 x 2048", lambda: x.t().contiguous(), 2 * x.nbytes, "GB/s"
    rows = torch.randn(2048, 4096)[:, :2048]
    yield "rows of a wider matrix", lambda: rows.contiguous(), 2 * x.nbytes, "GB/s"
