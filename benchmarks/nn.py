"""Forward and backward of nn's layers and losses."""

from benchmarks.line import Line

LEAF = "x = torch.randn({shape}, requires_grad=True); F = torch.nn.functional\n"


def step(name: str, target: float, shape: str, more: str, call: str, arrays: int = 0) -> Line:
    """One forward and backward; `more` prepares what `call` needs beside its leaf x.

    `arrays`: how many of x's size are read and written in both.
    """
    prepare, moved = LEAF.format(shape=shape) + more, f"{arrays} * nbytes(x)"
    return Line(name, target, prepare, call, "x.grad = None", bytes=moved)


def make_lines() -> list[Line]:
    softmax = "y = torch.{name}(x, {dim}); y.backward(g)"
    lines = [
        step(
            f"{name} {shape} along {dim}",
            1.0,
            shape,
            f"g = torch.randn({shape})",
            softmax.format(name=name, dim=dim),
            arrays=5,
        )
        for name, shape, dim in [
            ("softmax", "4096, 1000", -1),
            ("softmax", "64, 128, 128", -1),
            ("softmax", "4096, 16", -1),
            ("softmax", "32, 64, 32, 32", 1),
            ("log_softmax", "4096, 1000", -1),
            ("log_softmax", "256, 64", -1),
        ]
    ]
    lines += [
        step(
            f"cross_entropy {rows} x {classes}",
            target,
            f"{rows}, {classes}",
            f"t = torch.randint(0, {classes}, ({rows},))",
            "F.cross_entropy(x, t).backward()",
            arrays=3,
        )
        for rows, classes, target in [
            (4096, 1000, 0.5),
            (560, 5000, 0.5),
            (2048, 65, 0.5),
            (16, 10, 0.7),
        ]
    ]
    lines += [
        Line(
            f"{module} of {shape}{', channels_last' if form else ''}",
            1.0,
            f"layer = torch.nn.{module}; x, g = torch.randn({shape}), torch.randn({shape})\n"
            f"x, g = x{form}.requires_grad_(), g{form}",
            "layer(x).backward(g)",
            "x.grad = None; layer.zero_grad()",
            bytes="5 * nbytes(x)",
        )
        for module, shape, form in [
            ("LayerNorm(1000)", "4096, 1000", ""),
            ("LayerNorm(128)", "2048, 128", ""),
            ("LayerNorm(32)", "16, 32", ""),
            ("LayerNorm(10)", "1000, 10", ""),
            ("RMSNorm(128)", "2048, 128", ""),
            ("BatchNorm2d(64)", "32, 64, 32, 32", ""),
            ("BatchNorm2d(64)", "32, 64, 32, 32", ".to(memory_format=torch.channels_last)"),
            ("BatchNorm2d(512)", "32, 512, 4, 4", ""),
            ("BatchNorm1d(512)", "128, 512", ""),
            ("GroupNorm(8, 64)", "32, 64, 32, 32", ""),
            ("InstanceNorm2d(64)", "32, 64, 32, 32", ""),
            ("InstanceNorm2d(64)", "32, 64, 4, 4", ""),
            ("GroupNorm(8, 64)", "32, 64, 4, 4", ""),
        ]
    ]
    lines += [
        step(
            f"embedding {rows} x {columns} at {entries}",
            1.0,
            f"{rows}, {columns}",
            f"t = torch.randint(0, {rows}, ({entries},)); g = torch.randn({entries}, {columns})",
            "F.embedding(t, x).backward(g)",
            arrays=1,
        )
        for rows, columns, entries in [(5000, 128, 2048), (50000, 256, 4096), (65, 384, 16384)]
    ]
    lines += [
        Line(
            f"attention {heads} x {length} x {width}{', causal' if causal else ''}",
            1.0,
            f"q, k, v = torch.randn(3, {heads}, {length}, {width}).unbind()\n"
            "q, k, v = [x.clone().requires_grad_() for x in (q, k, v)]; g = torch.randn(q.shape)\n"
            "attend = torch.nn.functional.scaled_dot_product_attention",
            f"attend(q, k, v, is_causal={causal}).backward(g)",
            "q.grad = k.grad = v.grad = None",
            flops=f"12 * q.numel() * {length} / {2 if causal else 1}",  # six matrix products
        )
        for heads, length, width, causal in [
            ("16, 4", 128, 32, True),
            ("8, 8", 512, 64, False),
            ("8, 8", 512, 64, True),
            ("2, 4", 64, 16, True),
        ]
    ]
    lines += [
        Line(
            f"{layer} of {shape}",
            1.0,
            f"torch.manual_seed(0); layer = torch.nn.{layer}\n"
            f"x, g = torch.randn({shape}, requires_grad=True), torch.randn({shape})",
            call,
            "x.grad = None; layer.zero_grad()",
        )
        for layer, shape, call in [
            (
                "MultiheadAttention(128, 4, batch_first=True)",
                "16, 128, 128",
                "layer(x, x, x, need_weights=False)[0].backward(g)",
            ),
            (
                "MultiheadAttention(128, 4)",
                "128, 16, 128",
                "layer(x, x, x)[0].backward(g)",
            ),
            (
                "TransformerEncoderLayer(128, 4, 512, 0.0, batch_first=True)",
                "16, 128, 128",
                "layer(x).backward(g)",
            ),
        ]
    ]
    lines += [
        step(
            f"{name} of 10^6",
            target,
            "1000, 1000",
            "y = torch.rand(1000, 1000)",
            f"F.{name}(x, y).backward()",
            arrays=5,
        )
        for name, target in [
            ("mse_loss", 0.7),
            ("l1_loss", 0.7),
            ("smooth_l1_loss", 0.7),
            ("huber_loss", 0.7),
            ("binary_cross_entropy_with_logits", 0.7),
        ]
    ]
    lines += [
        step(
            f"{call} of 10^6",
            target,
            "1000, 1000",
            f"g = torch.ones(F.{call}.shape)",
            f"F.{call}.backward(g)",
            arrays=arrays,
        )
        for call, target, arrays in [
            ("dropout(x)", 0.7, 4),
            ("leaky_relu(x)", 1.0, 5),
            ("relu6(x)", 1.0, 5),
            ("softplus(x)", 1.0, 5),
            ("selu(x)", 1.0, 5),
            ("glu(x)", 1.0, 4),
        ]
    ]
    lines.append(
        step(
            "ctc_loss 100 x 32 x 40",
            1.0,
            "100, 32, 40",
            "t = torch.randint(1, 40, (32, 20)); n, k = (100,) * 32, (20,) * 32",
            "F.ctc_loss(x.log_softmax(2), t, n, k).backward()",
        )
    )
    lines.append(
        step(
            "softmax 64, 128, 128 of causal scores",
            1.0,
            "64, 128, 128",
            "mask = torch.full((128, 128), float('-inf')).triu(1); g = torch.randn(64, 128, 128)",
            "torch.softmax(x + mask, -1).backward(g)",
            arrays=5,
        )
    )
    lines += [
        Line(name, target, f"x, y = torch.randn({shape}), torch.randn({shape})", call)
        for name, shape, call, target in [
            ("contiguous of a transposed 4096²", "4096, 4096", "x.t().contiguous()", 0.5),
            ("add of a transposed 4096²", "4096, 4096", "x.t() + y", 0.5),
            ("contiguous of (B, H, T, D)", "16, 128, 4, 32", "x.transpose(1, 2).contiguous()", 1.0),
            (
                "pixel_shuffle 2 of 32 x 64 x 32 x 32",
                "32, 64, 32, 32",
                "torch.nn.functional.pixel_shuffle(x, 2)",
                1.0,
            ),
        ]
    ]
    return [
        *lines,
        step(
            "cross_entropy 8 x 21 x 64 x 64",
            1.0,
            "8, 21, 64, 64",
            "t = torch.randint(0, 21, (8, 64, 64))",
            "F.cross_entropy(x, t).backward()",
            arrays=3,
        ),
    ]
