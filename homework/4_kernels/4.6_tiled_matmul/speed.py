import tiny_torch as torch

NAIVE = "4.5"


def cases():
    for size in (64, 256, 512):
        a, b = torch.randn(size, size), torch.randn(size, size)
        yield f"{size} x {size}", lambda a=a, b=b: a @ b, 2 * size**3, "GFLOP/s"
    a, b = torch.randn(500, 300), torch.randn(300, 77)
    yield "500 x 300 x 77", lambda: a @ b, 2 * 500 * 300 * 77, "GFLOP/s"
