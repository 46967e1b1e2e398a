"""Samples of nn.functional, of its names under torch, and of nn.attention that PyTorch's table lacks."""

# ruff: noqa: E501 -- a sample is one string

from sweeps.sweep_cases import of

for name in ("relu_", "elu_", "celu_", "selu_", "leaky_relu_", "hardtanh_", "rrelu_"):
    of(
        f"nn.functional.{name}",
        "torch.NAME(x), x",
        "torch.NAME(s), s",
        "torch.NAME(e)",
        "torch.NAME(x[0]), x",
        "torch.NAME(3)",
    )
of(
    "nn.functional.elu_ nn.functional.celu_ nn.functional.leaky_relu_",
    "torch.NAME(x, 0.3), x",
    "torch.NAME(x, 'a')",
)
of(
    "nn.functional.hardtanh_",
    "torch.NAME(x, -0.5, 0.25), x",
    "torch.NAME(x, 1, -1)",
    "torch.NAME(x, min_val=-2)",
)
of(
    "nn.functional.rrelu_",
    "torch.NAME(x, 0.3, 0.3, True), x",
    "torch.NAME(x, training=True), x",
    "torch.NAME(x, 1, 0)",
)
of(
    "nn.functional.threshold_",
    "torch.NAME(x, 0.1, 20), x",
    "torch.NAME(s, 0, 1), s",
    "torch.NAME(e, 1, 2)",
    "torch.NAME(x)",
    "torch.NAME(x, 1, 'a')",
)
of(
    "nn.functional.fold",
    "torch.NAME(x.reshape(1, 3, 20), (4, 5), 1)",
    "torch.NAME(x.reshape(3, 20, 1), (2, 2), (2, 2))",
    "torch.NAME(x[0], (4, 3), 2, padding=1)",
    "torch.NAME(x[:, :, :4], 4, 2, stride=2)",
    "torch.NAME(x, 3, 2)",
    "torch.NAME(v, 3, 2)",
    "torch.NAME(x[:, :, :1], 3, 2, dilation=2)",
)
of(
    "nn.functional.gumbel_softmax",
    *[
        f"torch.NAME({a})"
        for a in (
            "x",
            "x, 0.5",
            "x, hard=True",
            "x, dim=0",
            "m, 2.0, True, 1e-10, 1",
            "s",
            "e",
            "x, 1, dim=7",
            "v, tau=0.1",
        )
    ],
)
of(
    "nn.functional.affine_grid",
    *[
        f"torch.NAME({a})"
        for a in (
            "x[:, :2, :3], (3, 1, 2, 3), False",
            "x[:, :2, :3], [3, 1, 2, 3], True",
            "x[:, :3, :4], (3, 1, 2, 3, 2), align_corners=False",
            "x, (3, 1, 2, 3), False",
            "x[:, :2, :3], (2, 1, 2, 3), False",
            "x[:, :2, :3], (3, 1, 0, 3), False",
            "x[:, :2, :3], (3, 2), False",
            "v, (3, 1, 2, 3), False",
        )
    ],
)
of(
    "nn.functional.dropout1d",
    *[
        f"torch.NAME({a})"
        for a in (
            "x",
            "x, 0.3, False",
            "x, 1.0",
            "x, 0.0",
            "y",
            "v",
            "x, 1.5",
            "x * 1, 0.5, True, True",
            "x[None]",
        )
    ],
)
of(
    "nn.functional.lp_pool1d",
    *[
        f"torch.NAME({a})"
        for a in (
            "x, 2, 2",
            "p, 1.5, 3, 1",
            "x, 2, 2, ceil_mode=True",
            "y, 3, 2",
            "v, 2, 2",
            "x, 2, 9",
            "x, math.inf, 2",
        )
    ],
)
of(
    "nn.functional.lp_pool2d",
    *[
        f"torch.NAME({a})"
        for a in (
            "x, 2, 2",
            "p, 1.5, (2, 3), 1",
            "x[None], 2, 2, ceil_mode=True",
            "y, 3, 2",
            "v, 2, 2",
            "x, 2, 9",
            "x, 1, (1, 2), (2, 1)",
        )
    ],
)
of(
    "dropout",
    *[
        f"torch.NAME({a})"
        for a in (
            "x, 0.5, True",
            "x, 0.3, False",
            "x, p=1.0, train=True",
            "x, 0.0, True",
            "s, 0.5, True",
            "e, 0.5, True",
            "x, 1.5, True",
            "x, 0.5",
            "x",
        )
    ],
)
of(
    "nn.functional.multi_head_attention_forward",
    *[
        f"E = x[..., :4]\nW = torch.linspace(-1, 1, 48, dtype=torch.float64).reshape(12, 4).to(d)\n"
        f"torch.NAME(E, E, E, 4, {heads}, W, None, None, None, False, 0.0, n, None{more})"
        for heads, more in (("2", ""), ("1", ", need_weights=False"), ("2", ", average_attn_weights=False"), ("3", ""), ("2", ", attn_mask=torch.ones(3, 3, dtype=torch.bool).triu(1)"))
    ],
)  # fmt: skip
of(
    "channels_last",
    "repr(torch.channels_last), x",
    "x[None].contiguous(memory_format=torch.channels_last)",
    "x[None].to(memory_format=torch.channels_last)",
    "x[None].is_contiguous(memory_format=torch.channels_last)",
    "torch.empty(2, 3, 4, 5, memory_format=torch.channels_last).stride(), x",
    "nn.Conv2d(3, 2, 1).to(memory_format=torch.channels_last).weight.stride(), x",
    "x.to(memory_format=torch.channels_last)",
)
of(
    "nn.attention.SDPBackend",
    "[q.name for q in torch.NAME.__members__.values()], x",
    "torch.NAME.MATH == torch.NAME.MATH, x",
    "repr(torch.NAME.FLASH_ATTENTION), x",
    "torch.NAME.NOTHING",
)
of(
    "nn.attention.sdpa_kernel",
    *[
        f"with torch.NAME({a}):\n    R = F.scaled_dot_product_attention(x, x, x)\nR"
        for a in ("nn.attention.SDPBackend.MATH", "[nn.attention.SDPBackend.MATH, nn.attention.SDPBackend.FLASH_ATTENTION]", "3", "[]", "nn.attention.SDPBackend.MATH, set_priority=True")
    ],
)  # fmt: skip
for name in ("max_pool1d", "max_pool2d"):
    of(
        name,
        *[
            f"torch.NAME({a})"
            for a in (
                "x, 2",
                "x, 3, 1",
                "x, kernel_size=2, padding=1",
                "x, 2, 1, 0, 2",
                "x, 2, ceil_mode=True",
                "x, 9",
                "v, 2",
                "x, 2, 2, 2",
                "x, (2,)",
                "e, 2",
                "x[None], 2",
            )
        ],
    )

of(
    "hann_window hamming_window bartlett_window blackman_window kaiser_window",
    *[
        f"torch.NAME({a})"
        for a in (
            "0, dtype=d", "1, dtype=d", "2, dtype=d", "9, dtype=d", "8, False, dtype=d",
            "8, periodic=False, dtype=d", "window_length=3, dtype=d", "-1, dtype=d", "4.0, dtype=d",
            "True", "4, dtype=d, requires_grad=True", "3, layout=torch.strided, device='cpu'",
        )
    ],
)  # fmt: skip
of(
    "hamming_window",
    "torch.NAME(5, True, 0.5, dtype=d)",
    "torch.NAME(5, False, 0.5, beta=1, dtype=d)",
    "torch.NAME(5, alpha=0.5)",
)
of("kaiser_window", "torch.NAME(5, True, 7.5, dtype=d)", "torch.NAME(5, beta=7.5)")
of(
    "range",
    *[
        f"torch.NAME({a})"
        for a in (
            "0, 4, dtype=d", "1, 8, 3, dtype=d", "3, 0, -1", "0.5, 2", "0, 1, 0.3", "4", "4, 0",
            "0, 4, 0", "0, 4, out=torch.empty(2, dtype=d)", "0, 4, requires_grad=True, dtype=d",
            "s.abs(), 9", "0, float('inf')",
        )
    ],
)  # fmt: skip
of(
    "rsub",
    *[
        f"torch.NAME({a})"
        for a in (
            "x, y", "x, 2", "x, 2, 3", "x, 2.5", "x, y, alpha=2", "x, s, alpha=0.5", "x, True",
            "2, x", "x, other=y", "x, b", "e, 1",
        )
    ],
)  # fmt: skip
of("mvlgamma", *[f"torch.NAME({a})" for a in ("p, 1", "p + 2, 3", "x, 2", "p, 0", "p, 2.0")])
of("special.multigammaln", *[f"torch.NAME({a})" for a in ("p, 1", "p + 2, 3", "x, 2", "p, 0")])
of("special.multigammaln", *[f"torch.NAME(p + 1, p={n})" for n in (2, 3, 4, 5, 6, 7)])
of("Tensor.mvlgamma", *[f"p.LAST({n})" for n in (0, 1, 2, 3, "2.5")])
of("Tensor.mvlgamma_", *[f"x.LAST({n})" for n in (0, 1, 2, "2.5")])
of("Tensor.mvlgamma_", *[f"(p + 2).LAST({n})" for n in (1, 2, 3, 4, 5, 6)])
of(
    "nn.functional.lp_pool3d",
    *[
        f"torch.NAME({a})"
        for a in (
            "p[None], 2, 2", "p[None], 1.5, (1, 2, 2), 1", "p[None], 2, 2, ceil_mode=True",
            "p[None], 3, 1", "p[None, None], 2, 2", "x, 2, 2", "x[None], 2, 9",
            "x[None], math.inf, 2", "p[None], -math.inf, 2", "p[None], 2, 0",
        )
    ],
)  # fmt: skip
