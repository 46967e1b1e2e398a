"""Samples of torch's functions that have a twin among the methods or in nn.functional."""

# ruff: noqa: E501 -- a sample is one string

from sweeps.sweep_cases import of

for name in ("relu_", "celu_", "selu_", "rrelu_", "sigmoid_", "exp_", "zero_", "detach_"):
    of(name, "torch.NAME(x), x", "torch.NAME(s)", "torch.NAME(e)", "torch.NAME(3)", "torch.NAME()", "torch.NAME(x, 1, 2, 3, 4, 5)", "torch.NAME(input=x * 1)")  # fmt: skip
of("threshold_", "torch.NAME(x, 0.1, 20), x", "torch.NAME(s, 0, 1)", "torch.NAME(x)", "torch.NAME(x, 1, 'a')", "torch.NAME(3, 1, 2)")  # fmt: skip
of("addmv_", "q = v[:4] * 1\ntorch.NAME(q, y, v), q", "q = v[:4] * 1\ntorch.NAME(q, y, v, beta=2, alpha=3)", "torch.NAME(v, y, v)", "torch.NAME(1, y, v)")  # fmt: skip
of("detach", "torch.NAME(x)", "torch.NAME(x * 1).requires_grad", "torch.NAME(s)", "torch.NAME(3)", "torch.NAME(x, 1)", "q = torch.NAME(x)\nq.data_ptr() == x.data_ptr()")  # fmt: skip
of("fill_ fill", "torch.NAME(x * 1, 3)", "torch.NAME(x * 1, s)", "torch.NAME(x * 1, x)", "torch.NAME(x * 1, value=2)", "torch.NAME(x * 1, 2.5)", "torch.NAME(x, 'a')", "torch.NAME(x)", "torch.NAME(3, 3)", "torch.NAME(x[0].mT * 1, -1)", "torch.NAME(e, 1)")  # fmt: skip
of("zero_", "torch.NAME(x * 1)", "torch.NAME((x * 1)[1:])")
of("gcd_ lcm_", "torch.NAME(x, x[0] * 1), x", "torch.NAME(x, 3)", "torch.NAME(3, x)", "torch.NAME(x[0], x)")  # fmt: skip
of("ldexp_", "torch.NAME(x * 1, x[0])", "torch.NAME(x, 'a')", "torch.NAME(2, x)")
of("xlogy_", "torch.NAME(p * 1, p[0])", "torch.NAME(p * 1, 2)", "torch.NAME(p, 'a')", "torch.NAME(2, p)")  # fmt: skip
of("clamp_ clip_", "torch.NAME(x * 1, 0)", "torch.NAME(x * 1, max=0)", "torch.NAME(x * 1, -1, 1)", "torch.NAME(x * 1, min=x)", "torch.NAME(x)", "torch.NAME(3, 1)")  # fmt: skip
of("clamp_max_ clamp_min_", "torch.NAME(x * 1, 0)", "torch.NAME(x * 1, x[0])", "torch.NAME(x)", "torch.NAME(3, 1)")  # fmt: skip
of("get_device is_conj is_distributed is_neg is_signed", "torch.NAME(x)", "torch.NAME(s)", "torch.NAME(e)", "torch.NAME(3)", "torch.NAME()", "torch.NAME(x, 1)", "torch.NAME(input=x)")  # fmt: skip
of("is_same_size Tensor.is_same_size", "torch.NAME(x, x)", "torch.NAME(x, y)", "torch.NAME(x, x.mT)", "torch.NAME(s, e)", "torch.NAME(x, 3)", "torch.NAME(x, other=x)", "torch.NAME(x)")  # fmt: skip
of("resize_as_", "torch.NAME(x.detach(), y)", "torch.NAME(x.detach(), s)", "torch.NAME(x.detach(), y.mT)", "torch.NAME(x.detach(), 3)", "torch.NAME(3, x)", "torch.NAME(x.detach()[None], x[None], memory_format=torch.channels_last)")  # fmt: skip
of("dropout_ alpha_dropout alpha_dropout_ feature_dropout feature_dropout_ feature_alpha_dropout feature_alpha_dropout_", "torch.NAME(x * 1, 0.5, True)", "torch.NAME(x, 0.3, False)", "torch.NAME(x * 1, p=1.0, train=True)", "torch.NAME(x * 1, 0.0, True)", "torch.NAME(s * 1, 0.5, True)", "torch.NAME(x * 1, 1.5, True)", "torch.NAME(x)", "torch.NAME(3, 0.5, True)")  # fmt: skip
of("index_put_", "torch.NAME(x * 1, (i,), y)", "torch.NAME(x * 1, (i, i), v, accumulate=True)", "torch.NAME(x * 1, (b,), (v * 1)[0])", "torch.NAME(x, i, y)", "torch.NAME(3, (i,), y)")  # fmt: skip

# ---------------------------------------------------------------------------------------- layers

of("embedding", *[f"torch.NAME({a})" for a in ("y, i", "y, k", "y, i, 1", "y, i, -1", "y, i, -7", "y, i, 100", "y, i, scale_grad_by_freq=True", "y, indices=i, padding_idx=2", "y, k, 1, True", "y, i, None", "y, i + 9", "i, y", "x, i", "y, 3", "y")])  # fmt: skip
of("adaptive_max_pool1d", *[f"torch.NAME({a})" for a in ("x, 2", "x, (3,)", "y, 2", "x, 7", "x, output_size=1", "x, 2, True", "v, 2", "x, -1", "e, 2", "3, 2")])  # fmt: skip
of("adaptive_avg_pool1d", *[f"torch.NAME({a})" for a in ("x, 2", "x, (3,)", "y, 2", "v, 2", "3, 2")])  # fmt: skip
of("max_pool3d", *[f"torch.NAME({a})" for a in ("x[None], 2", "x[None], 2, 1", "x[None, None], (1, 2, 2), 1, 0, 1, True", "x[None], 2, return_indices=True", "x, 2", "3, 2")])  # fmt: skip
CHANNELS = "q, r = y[:, 0], y[:, 1].abs() + 1"
of("batch_norm instance_norm", *[f"{CHANNELS}\ntorch.NAME({a})" for a in ("x, None, None, None, None, True, 0.1, 1e-5, True", "x, q, r, None, None, True, 0.1, 1e-5, False", "x, q, None, r.detach(), r.detach(), True, 0.1, 1e-5, False", "x, q, r, q.detach(), r.detach(), False, 0.1, 1e-5, False", "x, q, r, None, None, False, 0.1, 1e-5, False", "x, None, None, None, None, True, 0.1, 1e-5", "x, None, None, None, None, True, momentum=0.1, eps=0.1, cudnn_enabled=True", "3, None, None, None, None, True, 0.1, 1e-5, True", "x, v, r, None, None, True, 0.1, 1e-5, False")])  # fmt: skip
of("batch_norm", "torch.NAME(x[:1, :, 0], None, None, None, None, True, 0.1, 1e-5, True)")
of("hardshrink", "torch.NAME(x, 0.1)", "torch.NAME(x, lambd=2)", "torch.NAME(3)", "torch.NAME(x.float(), 'a')")  # fmt: skip

# ---------------------------------------------------------------------------------------- losses

REDUCTIONS = ("", ", reduction=0", ", reduction=1", ", reduction=2", ", reduction=5", ", reduction='mean'", ", reduction=True")  # fmt: skip
for name, arguments, wrong in (
    (
        "binary_cross_entropy_with_logits",
        "x, p.detach(), p.detach(), y.detach().abs()",
        ("x, 3", "x"),
    ),
    ("cosine_embedding_loss", "y, n[:1, :1] * y, i[:1].expand(4), 0.1", ("x, x, x", "y, y")),
    ("hinge_embedding_loss", "x, x.sign(), 0.5", ("x, 3", "x")),
    ("kl_div", "x, p", ("x, p, 1, True", "x, 3", "x")),
    ("margin_ranking_loss", "x, y[None], x.sign(), 0.5", ("x, 3, x", "x, y")),
    ("triplet_margin_loss", "x, p, x + 1, 1.0, 1.5, 1e-6, True", ("x, x, y", "x, x")),
):
    of(name, *[f"torch.NAME({arguments}{reduction})" for reduction in REDUCTIONS], *[f"torch.NAME({a})" for a in wrong])  # fmt: skip
of("kl_div", "torch.NAME(x, -p, 1, log_target=True)")
of("poisson_nll_loss", *[f"torch.NAME({a})" for a in ("x, p, True, False, 1e-8, 0", "x, p, True, False, 1e-8, 1", "p, p, False, True, 1e-3, 2", "x, p, True, True, 1e-8, 9", "x, p", "x, p, True, False, 1e-8, 'mean'", "x, p, log_input=True, full=False, eps=1e-8, reduction=1")])  # fmt: skip
CTC = "q = x.log_softmax(2)\nr = torch.tensor([[1, 2], [3, 1], [2, 2], [1, 4]])"
of("ctc_loss", *[f"{CTC}\ntorch.NAME({a})" for a in ("q, r, (3,) * 4, (1, 2, 1, 0)", "q, r, [3] * 4, [1] * 4, 0, 1", "q, r, torch.tensor([3] * 4), torch.tensor([1] * 4), 0, 2", "q, r, [3] * 4, [2] * 4, 0, 1, True", "q, r, [3] * 4, [2] * 4, reduction='sum'", "q, r, [3] * 4", "q, r, [3] * 4, [2] * 4, 9")])  # fmt: skip
