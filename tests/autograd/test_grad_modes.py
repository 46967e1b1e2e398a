"""grad_mode and inference_mode: as contexts and decorators, around generators, in backward."""

import pytest
from helpers import leaf


def test_modes_as_context_managers(torch):
    x = leaf(torch, 1.0)
    states = []

    def note():
        states.append((torch.is_grad_enabled(), (x * 2).requires_grad))

    with torch.no_grad():
        note()
        with torch.enable_grad():
            note()
            with torch.set_grad_enabled(False):
                note()
            note()
        note()
    note()
    assert states == [(on, on) for on in (False, True, False, True, False, True)]
    torch.set_grad_enabled(False)
    note()
    torch.set_grad_enabled(True)
    note()
    assert states[-2:] == [(False, False), (True, True)]


def test_modes_end_with_an_exception(torch):
    for mode in (torch.no_grad, lambda: torch.set_grad_enabled(False), torch.inference_mode):
        with pytest.raises(KeyError), mode():
            raise KeyError
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def test_modes_as_decorators(torch):
    def state():
        return torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    decorated = [
        (torch.no_grad(), (False, False)),
        (torch.no_grad, (False, False)),
        (torch.enable_grad(), (True, False)),
        (torch.enable_grad, (True, False)),
        (torch.inference_mode(), (False, True)),
        (torch.inference_mode, (False, True)),
        (lambda function: torch.set_grad_enabled(False)(function), (False, False)),
    ]
    for decorator, expected in decorated:
        function = decorator(state)
        assert state() == (True, False)
        assert function() == function() == expected and function.__name__ == "state"
        assert state() == (True, False)

    @torch.no_grad()
    def recursive(n):
        assert not torch.is_grad_enabled()
        return n if n == 0 else recursive(n - 1)

    assert recursive(3) == 0 and torch.is_grad_enabled()


def test_modes_around_generators(torch):
    @torch.no_grad()
    def generator():
        got = yield torch.is_grad_enabled()
        try:
            yield got, torch.is_grad_enabled()
        except ValueError:
            yield "caught", torch.is_grad_enabled()
        return 5

    g = generator()
    seen = [next(g), g.send(3), g.throw(ValueError()), torch.is_grad_enabled()]
    assert seen == [False, (3, False), ("caught", False), True]
    with pytest.raises(StopIteration) as stop:
        next(g)
    assert stop.value.value == 5

    closed = []

    @torch.no_grad()
    def cleaning():
        try:
            yield 1
        finally:
            closed.append(torch.is_grad_enabled())

    g = cleaning()
    next(g)
    g.close()
    assert closed == [False] and torch.is_grad_enabled()

    @torch.no_grad()
    def empty():
        return 7
        yield

    with pytest.raises(StopIteration) as stop:
        next(empty())
    assert stop.value.value == 7 and torch.is_grad_enabled()


def test_inference_mode_and_grad_mode(torch):
    x = leaf(torch, 1.0)
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert torch.is_grad_enabled() and not (x * 2).requires_grad
        with torch.inference_mode(False):
            assert torch.is_grad_enabled() and (x * 2).requires_grad
    assert torch.is_grad_enabled() and (x * 2).requires_grad


def test_backward_and_its_hooks_run_without_grad_unless_create_graph(torch):
    x = leaf(torch, 2.0)
    modes = []
    y = x * x
    y.register_hook(lambda g: modes.append(torch.is_grad_enabled()))
    y.backward(retain_graph=True)
    torch.autograd.grad(y, x, create_graph=True)
    with torch.no_grad():
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert modes == [False, True, True] and g.requires_grad and torch.is_grad_enabled()
    with pytest.raises(KeyError):
        y.register_hook(lambda g: {}["no"])
        y.backward()
    assert torch.is_grad_enabled()
