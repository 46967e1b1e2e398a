"""Samples of utils.checkpoint, called `C`."""

# ruff: noqa: E501 -- a sample is one string

from sweeps.sweep_cases import of

# q is floating, of x's values, so that every dtype has gradients; f needs its intermediate values.
CHECKPOINT = """
C = torch.utils.checkpoint
q = (x.detach() if x.is_floating_point() else x.detach().float()).requires_grad_()
r = q.detach().clone().requires_grad_()
def f(t, *others, scale=1):
    return (t.sin() * t).cos() * scale
def grad(result, *leaves):
    result.sum().backward()
    return [result.detach(), *[t.grad for t in leaves or (q,)]]
class Both:
    def __enter__(self):
        return self
    def __exit__(self, *exception):
        return None
"""
CALLS = (
    "grad(torch.NAME(f, q, use_reentrant=R))",
    "grad(torch.NAME(f, q * 2, use_reentrant=R))",
    "grad(torch.NAME(f, q, r, use_reentrant=R))",
    "grad(torch.NAME(lambda a, b: a * b.exp(), q, r, use_reentrant=R), q, r)",
    "grad(torch.NAME(lambda a, b: f(a) * b, q, 3, use_reentrant=R))",
    "grad(torch.NAME(f, q, use_reentrant=R, preserve_rng_state=False))",
    "grad(torch.NAME(lambda t: torch.NAME(f, t, use_reentrant=R).exp(), q, use_reentrant=R))",
    "with torch.no_grad():\n    Z = torch.NAME(f, q, use_reentrant=R)\nZ, Z.requires_grad",
    "torch.NAME(f, q, use_reentrant=R, determinism_check='none').detach()",
    "grad(torch.NAME(nn.Tanh(), q, use_reentrant=R))",
    "torch.NAME(lambda t: t.detach(), q, use_reentrant=R).sum().backward()",
    "torch.autograd.grad(torch.NAME(f, q, use_reentrant=R).sum(), q)",
    "torch.NAME(lambda t: t[7, 7, 7, 7], q, use_reentrant=R)",
    "torch.NAME(f, q, use_reentrant=R, wrong=3)",
    "torch.NAME(f, q, use_reentrant=R, debug=True).detach()",
    "torch.NAME(f, use_reentrant=R, preserve_rng_state=True)",
    "torch.NAME(f, q, use_reentrant=R, context_fn=lambda: (Both(), Both())).detach()",
)
of(
    "utils.checkpoint.checkpoint",
    *[text.replace("=R", f"={reentrant}") for reentrant in (False, True) for text in CALLS],
    "grad(torch.NAME(f, q, use_reentrant=False, scale=3))",
    "grad(torch.NAME(f, q, use_reentrant=False, early_stop=False))",
    "torch.NAME(f, q, use_reentrant=False, determinism_check='all')",
    "torch.NAME(f, q, use_reentrant=False, debug=True, context_fn=lambda: (Both(), Both()))",
    "L = [torch.exp, torch.neg]\nS = torch.NAME(lambda t: L.pop()(t), q, use_reentrant=False)\nS.sum().backward()",
    "y = torch.autograd.grad(torch.NAME(f, q, use_reentrant=False).sum(), q, create_graph=True)[0]\ny.sum().backward()\nq.grad",
    prepare=CHECKPOINT,
)
of(
    "utils.checkpoint.checkpoint_sequential",
    *[
        text.replace("=R", f"={reentrant}")
        for reentrant in (False, True)
        for text in (
            "grad(torch.NAME([f, f, f], 1, q, use_reentrant=R))",
            "grad(torch.NAME([f, f, f], 2, q, use_reentrant=R))",
            "grad(torch.NAME([f, f, f], 3, q, use_reentrant=R))",
            "grad(torch.NAME([f] * 7, segments=3, input=q, use_reentrant=R))",
            "grad(torch.NAME(nn.Sequential(nn.Tanh(), nn.ReLU(), nn.Tanh()), 2, q, use_reentrant=R))",
            "grad(torch.NAME([f, f], 2, q, use_reentrant=R, preserve_rng_state=False))",
            "torch.NAME([f, f], 3, q, use_reentrant=R)",
            "torch.NAME([f, f], 0, q, use_reentrant=R)",
            "torch.NAME([f, f], 2, q, use_reentrant=R, wrong=1)",
            "torch.NAME([f, f], use_reentrant=R)",
            "torch.NAME([f, 3], 2, q, use_reentrant=R)",
        )
    ],
    prepare=CHECKPOINT,
)
of(
    "utils.checkpoint.CheckpointError",
    "issubclass(torch.NAME, RuntimeError), x",
    "torch.NAME('a').args, x",
    "raise torch.NAME('a')",
    "L = [torch.exp, torch.neg]\nS = C.checkpoint(lambda t: L.pop(0)(t), q, use_reentrant=False)\nS.sum().backward()",
    *[
        f"L = [lambda t: {one}, lambda t: {other}]\nS = C.checkpoint(lambda t: L.pop(0)(t), q, use_reentrant=False)\nS.sum().backward()"
        for one, other in (
            ("t.exp()", "t"), ("t.exp()", "t[:1].exp()"), ("t.exp()", "t.double().exp().float()"),
            ("t.exp().exp()", "t.exp()"), ("t.exp().sin().exp()", "t.exp()"), ("t.exp()", "t[0].exp()"),
        )
    ],
    prepare=CHECKPOINT,
)  # fmt: skip
of(
    "utils.checkpoint.CheckpointFunction",
    *[
        f"grad(torch.NAME.apply({arguments}))"
        for arguments in (
            "f, True, q", "f, False, q", "f, True, q * 2", "f, True, q, r", "f, True, q, 3",
            "f, True, q, None", "torch.exp, True, q", "nn.Tanh(), True, q", "f, True, r, q",
        )
    ],
    "issubclass(torch.NAME, torch.autograd.Function), x",
    "torch.autograd.grad(torch.NAME.apply(f, True, q).sum(), q)",
    "torch.NAME.apply(3, True, q)",
    prepare=CHECKPOINT,
)  # fmt: skip
of(
    "utils.checkpoint.noop_context_fn",
    "len(torch.NAME()), x",
    "isinstance(torch.NAME(), tuple), x",
    "A, B = torch.NAME()\nwith A, B:\n    y = x + x\ny",
    *[f"torch.NAME()[{i}].__enter__(), x" for i in (0, 1)],
    "torch.NAME(3)",
    "torch.NAME()[2]",
    "torch.NAME(wrong=1)",
    *[f"grad(C.checkpoint(f, q{a}, use_reentrant=False, context_fn=torch.NAME))" for a in ("", " * 2", ", r")],
    "grad(C.checkpoint(f, q, use_reentrant=True, context_fn=torch.NAME))",
    prepare=CHECKPOINT,
)  # fmt: skip
of(
    "utils.checkpoint.set_checkpoint_debug_enabled utils.checkpoint.set_checkpoint_early_stop",
    *[
        f"with torch.NAME({value}):\n    S = C.checkpoint({function}, q, use_reentrant=False)\ngrad(S)"
        for value in (True, False)
        for function in ("f", "torch.exp", "nn.Tanh()", "lambda t: f(f(t))")
    ],
    "with torch.NAME(False):\n    with torch.NAME(True):\n        S = C.checkpoint(f, q, use_reentrant=False)\ngrad(S)",
    "torch.NAME()",
    "torch.NAME(True).__enter__(), x",
    "@torch.NAME(False)\ndef g(t):\n    return C.checkpoint(f, t, use_reentrant=False)\ngrad(g(q))",
    prepare=CHECKPOINT,
)
# What op a policy is told is not the same: the samples go by how the result looks.
SELECTIVE = (
    CHECKPOINT
    + """
P = C.CheckpointPolicy
def run(policy, function=f, **options):
    context = lambda: C.create_selective_checkpoint_contexts(policy, **options)
    return C.checkpoint(function, q, use_reentrant=False, context_fn=context)
"""
)
of(
    "utils.checkpoint.create_selective_checkpoint_contexts",
    *[f"grad(run(lambda c, op, *a, **k: {answer}))" for answer in ("P.MUST_SAVE", "P.PREFER_SAVE", "P.MUST_RECOMPUTE", "P.PREFER_RECOMPUTE", "True", "False")],
    "grad(run([]))",
    "grad(run(lambda c, op, *a, **k: c.op_output.ndim == 3))",
    "grad(run(lambda c, op, *a, **k: True, lambda t: f(f(t))))",
    "grad(run(lambda c, op, *a, **k: True, lambda t: f(t).mT.exp()))",
    "S = run(lambda c, op, *a, **k: True).sum()\nS.backward(retain_graph=True)\nS.backward()",
    "S = run(lambda c, op, *a, **k: True, lambda t: t.exp().mul_(2).sin()).sum()\nS.backward()",
    "len(torch.NAME([])), x",
    "torch.NAME(3)",
    "torch.NAME()",
    "torch.NAME([3])",
    "torch.NAME(['mm'])",
    "torch.NAME([torch.mm])",
    "torch.NAME((3,))",
    "torch.NAME(None)",
    prepare=SELECTIVE,
)  # fmt: skip
of(
    "utils.checkpoint.CheckpointPolicy",
    *[f"torch.NAME.{name}.value, x" for name in ("MUST_SAVE", "PREFER_SAVE", "MUST_RECOMPUTE", "PREFER_RECOMPUTE", "MUST_CPU_OFFLOAD", "PREFER_CPU_OFFLOAD")],
    "[p.name for p in torch.NAME], x",
    "torch.NAME(3).name, x",
    "torch.NAME(6)",
    "torch.NAME.SAVE",
    "torch.NAME['MUST_SAVE'].value, x",
    "grad(run(lambda c, op, *a, **k: torch.NAME(0)))",
    "grad(run(lambda c, op, *a, **k: torch.NAME(3)))",
    prepare=SELECTIVE,
)  # fmt: skip
of(
    "utils.checkpoint.SelectiveCheckpointContext",
    *[f"torch.NAME(is_recompute={value}).is_recompute, x" for value in (True, False, 3)],
    "torch.NAME(is_recompute=True).op_output, x",
    "torch.NAME(is_recompute=True, op_output=x).op_output",
    "torch.NAME(is_recompute=False, op_output=(x, 3)).op_output",
    "torch.NAME()",
    "torch.NAME(True)",
    "torch.NAME(op_output=x)",
    "torch.NAME(is_recompute=True, wrong=1)",
    "S = []\ngrad(run(lambda c, op, *a, **k: S.append(type(c) is torch.NAME)))\nS[:2], x",
    "S = []\ngrad(run(lambda c, op, *a, **k: S.append(c.op_output.detach())))\nS[0]",
    prepare=SELECTIVE,
)  # fmt: skip
