"""gradcheck and gradgradcheck: what they accept and catch. Over the op table: test_ops_alone.py."""

import pytest

import tiny_torch as torch
from tiny_torch.autograd import Function, GradcheckError, gradcheck, gradgradcheck


def leaf(*values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


class Wrong(Function):
    """x^2 with a gradient that is `slope(x, grad)`."""

    slope = None

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @classmethod
    def backward(cls, ctx, grad):
        return Wrong.slope(ctx.saved_tensors[0], grad)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    ("slope", "message"),
    [
        (lambda x, grad: 3 * x * grad, "Jacobian mismatch for output 0 with respect to input 0"),
        (lambda x, grad: 2 * x, "Jacobian mismatch|backward not multiplied"),
        (lambda x, grad: 2 * x * grad + 1e-7, "backward not multiplied by grad_output"),
        (
            lambda x, grad: 2 * x * grad * (1 + 1e-9 * torch.rand((), dtype=torch.float64)),
            "Backward is not reentrant",
        ),
    ],
)
def test_a_wrong_gradient_is_caught(slope, message, fast):
    Wrong.slope = staticmethod(slope)
    with pytest.raises(GradcheckError, match=message):
        gradcheck(Wrong.apply, leaf(0.5, 1.5), fast_mode=fast)
    assert not gradcheck(Wrong.apply, leaf(0.5, 1.5), raise_exception=False, fast_mode=fast)


@pytest.mark.parametrize("output", [3, (), None, 0.5, (3, None)])
def test_outputs_that_are_no_tensors(oracle, output):
    for package in (torch, oracle):
        x = package.ones(2, dtype=package.float64, requires_grad=True)
        check = package.autograd.gradcheck
        if output == ():
            assert check(lambda a: output, (x,))
            continue
        for raises in (True, False):
            with pytest.raises(AttributeError, match="object has no attribute 'requires_grad'"):
                check(lambda a: output, (x,), raise_exception=raises)


def test_a_second_gradient_that_lost_its_history_is_caught():
    Wrong.slope = staticmethod(lambda x, grad: 2 * x.detach() * grad)
    assert gradcheck(Wrong.apply, leaf(0.5, 1.5))
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradgradcheck(Wrong.apply, leaf(0.5, 1.5))


def test_arguments():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    assert gradcheck(torch.mul, (x, y))
    assert gradcheck(torch.mul, [x, 3.0])
    assert gradcheck(torch.mul, (x, y.detach()))
    assert gradgradcheck(torch.mul, (x, y), torch.ones(2, dtype=torch.float64, requires_grad=True))
    assert gradgradcheck(torch.mul, (x, y), gen_non_contig_grad_outputs=True)
    assert gradcheck(lambda x: (x * 2, x.sum(), x > 0), x, check_grad_dtypes=True)
    assert gradcheck(lambda x: x.detach() * 0 + 1, x)  # constant: no gradient is right
    assert x.grad is None and x.tolist() == [1.0, 2.0]
    for fast in (False, True):
        strided = torch.rand(3, 4, dtype=torch.float64).t()[1:].requires_grad_()
        assert gradcheck(torch.exp, strided, fast_mode=fast)
        with pytest.raises(GradcheckError):
            gradcheck(lambda x: x.detach() * 2, x, fast_mode=fast)


def test_what_is_refused():
    x = leaf(1.0, 2.0)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(torch.exp, x.detach())
    with pytest.raises(RuntimeError, match="dimension with stride 0"):
        gradcheck(torch.exp, torch.ones(1, dtype=torch.float64).expand(3).requires_grad_())
    with pytest.raises(NotImplementedError):
        gradcheck(torch.exp, x, check_forward_ad=True)
    with pytest.raises(AssertionError, match="Expected at least one of"):
        gradcheck(torch.exp, x, check_backward_ad=False)
    with pytest.warns(UserWarning, match="not a double precision"):
        gradcheck(lambda x: x * 2, leaf(1.0, dtype=torch.float32), eps=1e-2, atol=1e-2)
