import tiny_torch as torch


def cases():
    x, row, out = torch.randn(2048, 2048), torch.randn(2048), torch.empty(2048, 2048)
    column = torch.randn(2048, 1)
    yield "side by side", lambda: torch.add(x, x, out=out), 2 * x.nbytes, "GB/s"
    yield "a row for all rows", lambda: torch.add(x, row, out=out), 2 * x.nbytes, "GB/s"
    yield "a column for all", lambda: torch.add(x, column, out=out), 2 * x.nbytes, "GB/s"
    yield "a transpose", lambda: torch.add(x, x.t(), out=out), 3 * x.nbytes, "GB/s"
