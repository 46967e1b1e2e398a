import tiny_torch as torch


def cases():
    for rows, size in ((4096, 1000), (1 << 16, 32)):
        x = torch.randn(rows, size)
        yield f"{rows} rows of {size}", lambda x=x: x.softmax(1), 2 * x.nbytes, "GB/s"
