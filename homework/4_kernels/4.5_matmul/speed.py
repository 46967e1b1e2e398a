import tiny_torch as torch


def cases():
    for size in (64, 256, 512):
        a, b = torch.randn(size, size), torch.randn(size, size)
        yield f"{size} x {size}", lambda a=a, b=b: a @ b, 2 * size**3, "GFLOP/s"
