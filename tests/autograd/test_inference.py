"""Inference tensors: which tensors are, and what is refused outside of inference mode."""

import pytest

WRITE = "Inplace update to inference tensor outside InferenceMode is not allowed"
SAVE = "Inference tensors cannot be saved for backward"
REQUIRE = "Setting requires_grad=True on inference tensor outside InferenceMode"


def made(torch):
    """An inference tensor."""
    with torch.inference_mode():
        return torch.ones(2, 2) * 2


INSIDE = {  # of a normal tensor, in inference mode
    "x * 1": True, "x.clone()": True, "x.double()": True, "torch.ones(2)": True,
    "torch.ones(2).add_(1)": True, "torch.ones(2, requires_grad=True)": True, "x.add_(1)": False,
    "x": False, "x[0]": False, "x.detach()": False, "x.data": False, "x.float()": False,
    "x.contiguous()": False, "torch.add(x, 1, out=x)": False, "z[0]": True, "z.detach()": True,
}  # fmt: skip
OUTSIDE = {  # of an inference tensor, outside
    "z": True, "z[0]": True, "z.detach()": True, "z.view(4)": True, "z.float()": True,
    "z.contiguous()": True, "z.expand(3, 2, 2)": True, "z + 1": False, "z.clone()": False,
    "z.double()": False, "torch.zeros_like(z)": False, "z.requires_grad_(False)": True,
    "copy.deepcopy(z)": None, "torch.tensor(z.tolist())": False,
}  # fmt: skip


def evaluated(torch, expression, **names):
    return eval(expression, {"torch": torch, "copy": __import__("copy"), **names})


@pytest.mark.parametrize("expression", INSIDE)
def test_inside(torch, expression):
    z, x = made(torch), torch.ones(2, 2)
    with torch.inference_mode():
        result = evaluated(torch, expression, x=x, z=z)
    assert result.is_inference() is torch.is_inference(result) is INSIDE[expression]


@pytest.mark.parametrize("expression", OUTSIDE)
def test_outside(torch, expression):
    result = evaluated(torch, expression, z=made(torch))
    if OUTSIDE[expression] is not None:
        assert result.is_inference() is OUTSIDE[expression]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        *[(text, WRITE) for text in ("z.add_(1)", "z.zero_()", "z[0].fill_(1)", "z.copy_(x)")],
        *[(text, WRITE) for text in ("z.t_()", "z.unsqueeze_(0)", "z.resize_(1)", "z.normal_()")],
        *[(text, WRITE) for text in ("z.__setitem__(0, 1.0)", "torch.add(x, x, out=z)")],
        *[(text, SAVE) for text in ("z * w", "w @ z", "w.exp() * z[0]", "w / z", "w ** z")],
        *[(text, SAVE) for text in ("w.clone().mul_(z)", "torch.dot(w[0], z[0])")],
        *[(text, SAVE) for text in ("torch.nn.functional.linear(w, z)", "w.where(z > 0, w) * z")],
        ("z.requires_grad_()", REQUIRE),
        ("torch.nn.Parameter(z)", REQUIRE),
        ("z._version", "Inference tensors do not track version counter"),
    ],
)
def test_what_is_refused(torch, expression, message):
    names = {"z": made(torch), "x": torch.ones(2, 2), "w": torch.ones(2, 2, requires_grad=True)}
    with pytest.raises(RuntimeError, match=message):
        evaluated(torch, expression, **names)


@pytest.mark.parametrize(
    "expression",
    [
        "w + z", "w - z", "z * x", "w * z.clone()", "w.masked_fill(z > 0, 1)", "x.copy_(z)",
        "torch.cat([w, z])", "w.clone().add_(z)", "w.clone().copy_(z)", "z.numpy()", "w.relu()",
        "torch.nn.functional.linear(w, w, z[0])", "(w * w).backward(z)", "x.mul_(z)",
    ],
)  # fmt: skip
def test_what_is_allowed(torch, expression):
    evaluated(
        torch, expression, z=made(torch), x=torch.ones(2, 2), w=torch.ones(2, 2, requires_grad=True)
    )


def test_inside_inference_tensors_are_ordinary(torch):
    z = made(torch)
    with torch.inference_mode():
        assert z.add_(1).t_().requires_grad_().requires_grad
        z[0] = 7
        assert (z * z).sum().item() == 116 and not (z * z).requires_grad
        with torch.inference_mode(False):
            assert not torch.ones(1).is_inference()
        assert torch.ones(1).is_inference()
    assert not torch.ones(1).is_inference()


def test_what_may_not_be_saved_is_seen_before_the_write(torch):
    w, z = torch.ones(2, 2, requires_grad=True), made(torch)
    x = w * 3
    with pytest.raises(RuntimeError, match=SAVE):
        x.mul_(z)
    assert x.tolist() == [[3, 3], [3, 3]]
    assert x.add_(z).tolist() == [[5, 5], [5, 5]]


def test_views_of_inference_tensors_are_refused_as_such(torch):
    z = made(torch)
    view = z.split(1)[0]
    with pytest.raises(RuntimeError, match=WRITE):
        view[0] = torch.ones(2, requires_grad=True) * 1


def test_detach_does_nothing_in_inference_mode(torch):
    view = (torch.ones(2, requires_grad=True) * 1)[0]
    with torch.inference_mode():
        assert view.detach_().requires_grad


def test_nothing_is_recorded_of_a_backward_in_inference_mode(torch):
    x = torch.ones(3, requires_grad=True)
    y = x.sin().sum()
    with torch.inference_mode():
        (gradient,) = torch.autograd.grad(y, x, create_graph=True)
    assert gradient.is_inference() and not gradient.requires_grad


def test_another_thread_is_not_in_inference_mode(torch):
    from threading import Thread

    found = []
    with torch.inference_mode():
        thread = Thread(target=lambda: found.append(torch.ones(1).is_inference()))
        thread.start()
        thread.join()
    assert found == [False]
