import tiny_torch as torch


def cases():
    for size in (1 << 12, 1 << 22):
        param = torch.randn(size, requires_grad=True)
        param.grad = torch.randn(size)
        optimizer = torch.optim.AdamW([param])
        yield f"{size} parameters", optimizer.step, 7 * param.nbytes, "GB/s"
