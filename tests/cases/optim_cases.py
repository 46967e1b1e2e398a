"""What test_optim.py runs through: trainings, and mistakes with what they raise.

`lib` is tiny_torch or torch: both run the same code.
"""

from __future__ import annotations

from importlib import import_module

import numpy as np

SHAPES = [(3,), (4, 5), (), (257,), (0,), (2, 3, 4)]
TOLERANCE = {"float32": 1e-6, "float64": 1e-12}


CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.01, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"betas": (0.3, 0.7), "eps": 0.1, "maximize": True}),
    ("Adam", {"lr": 0.1, "betas": (0.0, 0.0), "eps": 0.1}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.01, "amsgrad": True}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.01, "maximize": True}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("AdamW", {"lr": 0.1}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    ("RMSprop", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.01, "alpha": 0.4, "eps": 0.1, "weight_decay": 0.01}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9, "maximize": True}),
    ("RMSprop", {"lr": 0.01, "centered": True, "eps": 0.1}),
    ("RMSprop", {"lr": 0.01, "centered": True, "eps": 0.1, "momentum": 0.5, "weight_decay": 0.01}),
    ("NAdam", {"lr": 0.1}),
    ("NAdam", {"betas": (0.3, 0.7), "eps": 0.1, "momentum_decay": 0.5, "maximize": True}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.01}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.1, "betas": (0.3, 0.7), "eps": 0.1, "maximize": True}),
    ("RAdam", {"lr": 0.1, "betas": (0.9, 0.9), "weight_decay": 0.01}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adamax", {"lr": 0.1}),
    ("Adamax", {"betas": (0.3, 0.7), "eps": 0.1, "maximize": True}),
    ("Adamax", {"lr": 0.1, "betas": (0.0, 0.5), "weight_decay": 0.01}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.5, "initial_accumulator_value": 0.1, "maximize": True}),
    ("Adagrad", {"lr": 0.1, "weight_decay": 0.01, "eps": 0.1}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.1, "rho": 0.3, "eps": 0.1, "maximize": True}),
    ("Adadelta", {"lr": 0.1, "weight_decay": 0.01}),
    ("Rprop", {"lr": 0.1}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 3.0), "step_sizes": (0.05, 0.5), "maximize": True}),
    ("ASGD", {"lr": 0.1}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "alpha": 0.3, "t0": 3, "weight_decay": 0.01}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "t0": 0, "maximize": True}),
]
# one of each, with all of its states
FULL = [CASES[i] for i in (5, 9, 13, 18, 22, 26, 30, 33, 36, 38, 40)]
TENSOR_LR = sorted({name for name, _ in CASES})  # all take a Tensor of one element
FUSED = ("SGD", "Adam", "AdamW", "Adagrad")
# have the option "capturable", which only Adam and AdamW do here
NOT_CAPTURABLE = tuple(
    name for name in TENSOR_LR if name not in ("SGD", "Adagrad", "Adam", "AdamW")
)


def case_id(value):
    return value if isinstance(value, str) else ",".join(f"{k}={v}" for k, v in value.items())


# ---- trainings -----------------------------------------------------------------------------


def parameters(lib, dtype="float32", seed=0, shapes=SHAPES):
    rng = np.random.default_rng(seed)
    made = [np.asarray(rng.standard_normal(shape), dtype) for shape in shapes]
    return [lib.nn.Parameter(lib.from_numpy(array)) for array in made]


def step_with_gradients(lib, optimizer, seed):
    """One step; the gradients are drawn anew, and away from 0, where Adam's quotient jumps."""
    rng = np.random.default_rng(seed)
    for group in optimizer.param_groups:
        for param in group["params"]:
            grad = rng.standard_normal(tuple(param.shape))
            grad = np.asarray(grad + np.sign(grad) * 0.1, str(param.dtype).split(".")[1])
            param.grad = lib.from_numpy(grad)
    optimizer.step()


def values(optimizer):
    """All parameters and all states, in order."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    tensors = params + [v for p in params for v in optimizer.state[p].values()]
    return [tensor.detach().numpy().copy() for tensor in tensors]


def trained(lib, name, options, dtype="float32", steps=10, params=None):
    params = parameters(lib, dtype) if params is None else params
    optimizer = getattr(lib.optim, name)(params, **options)
    for step in range(steps):
        step_with_gradients(lib, optimizer, step)
    return optimizer


def assert_equal(a, b):
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


def assert_close(a, b, tolerance):
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


# ---- mistakes ------------------------------------------------------------------------------


def make(name, *arguments, **options):
    return lambda lib: getattr(lib.optim, name)(
        [lib.nn.Parameter(lib.ones(2))], *arguments, **options
    )


def given(params, name="SGD"):
    return lambda lib: getattr(lib.optim, name)(params(lib))


def tensor_lr(name):
    return lambda lib: getattr(lib.optim, name)([lib.ones(2)], lr=two_elements(lib))


def two_elements(lib):
    return lib.tensor([0.1, 0.2])


def add(group):
    def action(lib):
        w = lib.nn.Parameter(lib.ones(2))
        return lib.optim.SGD([w]).add_param_group(group(lib, w))

    return action


def load(groups):
    def action(lib):
        optimizer = lib.optim.SGD([lib.nn.Parameter(lib.ones(2))])
        return optimizer.load_state_dict({"state": {}, "param_groups": groups})

    return action


def required(lib):
    return import_module(lib.__name__ + ".optim.optimizer").required


def step_with_a_tensor_lr(lib):
    w = lib.nn.Parameter(lib.ones(2))
    optimizer = lib.optim.Adam([w], foreach=True)
    optimizer.param_groups[0]["lr"] = lib.tensor(0.1)
    w.grad = lib.ones(2)
    optimizer.step()


def capturable_step(name, **options):
    def step(lib):
        w = lib.nn.Parameter(lib.ones(2))
        w.grad = lib.ones(2)
        getattr(lib.optim, name)([w], capturable=True, **options).step()

    return step


def step_with_a_wrong_hook(lib):
    optimizer = lib.optim.SGD([lib.nn.Parameter(lib.ones(2))])
    optimizer.register_step_pre_hook(lambda *arguments: 5)
    optimizer.step()


ERRORS = [  # what is done, the exception, a part of its message
    (make("SGD", -1.0), ValueError, "Invalid learning rate: -1.0"),
    (make("SGD", momentum=-0.5), ValueError, "Invalid momentum value: -0.5"),
    (make("SGD", weight_decay=-0.5), ValueError, "Invalid weight_decay value: -0.5"),
    (make("SGD", nesterov=True), ValueError, "Nesterov momentum requires a momentum and zero"),
    (make("SGD", momentum=0.9, dampening=0.1, nesterov=True), ValueError, "zero dampening"),
    (
        make("SGD", foreach=True, fused=True),
        RuntimeError,
        "`fused` and `foreach` cannot be `True` together.",
    ),
    (make("Adam", -1.0), ValueError, "Invalid learning rate: -1.0"),
    (make("Adam", float("nan")), ValueError, "Invalid learning rate: nan"),
    (make("Adam", eps=-1.0), ValueError, "Invalid epsilon value: -1.0"),
    (make("Adam", betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
    (make("Adam", betas=(0.9, -0.1)), ValueError, "Invalid beta parameter at index 1: -0.1"),
    (make("Adam", weight_decay=-1), ValueError, "Invalid weight_decay value: -1"),
    (make("Adam", betas=(0, 0.9)), ValueError, "betas must be either both floats or both Tensors"),
    (
        lambda lib: lib.optim.Adam([lib.ones(2)], lr=lib.tensor(0.1), foreach=True),
        ValueError,
        "lr as a Tensor is not supported for capturable=False and foreach=True",
    ),
    (
        lambda lib: lib.optim.Adam([lib.ones(2)], betas=(lib.tensor(0.5),) * 2, foreach=True),
        ValueError,
        "betas[0] as a Tensor is not supported for capturable=False and foreach=True",
    ),
    (
        step_with_a_tensor_lr,
        RuntimeError,
        "lr as a Tensor is not supported for capturable=False and foreach=True",
    ),
    (capturable_step("Adam"), AssertionError, "If capturable=True, params and state_steps must be"),
    (
        capturable_step("AdamW", foreach=True),
        AssertionError,
        "must be on supported devices: ['cuda'",
    ),
    (make("AdamW", -1.0), ValueError, "Invalid learning rate: -1.0"),
    (make("RMSprop", -1.0), ValueError, "Invalid learning rate: -1.0"),
    (make("RMSprop", alpha=-1.0), ValueError, "Invalid alpha value: -1.0"),
    (make("RMSprop", eps=-1.0), ValueError, "Invalid epsilon value: -1.0"),
    (make("RMSprop", momentum=-1.0), ValueError, "Invalid momentum value: -1.0"),
    (make("RMSprop", weight_decay=-1.0), ValueError, "Invalid weight_decay value: -1.0"),
    (make("NAdam", -1.0), ValueError, "Invalid learning rate: -1.0"),
    (make("NAdam", eps=-1.0), ValueError, "Invalid epsilon value: -1.0"),
    (make("NAdam", betas=(0.9, 1.0)), ValueError, "Invalid beta parameter at index 1: 1.0"),
    (make("NAdam", weight_decay=-1.0), ValueError, "Invalid weight_decay value: -1.0"),
    (make("NAdam", momentum_decay=-1.0), ValueError, "Invalid momentum_decay value: -1.0"),
    (make("RAdam", -1.0), ValueError, "Invalid learning rate: -1.0"),
    (make("RAdam", eps=-1.0), ValueError, "Invalid epsilon value: -1.0"),
    (make("RAdam", betas=(-0.1, 0.9)), ValueError, "Invalid beta parameter at index 0: -0.1"),
    (make("RAdam", weight_decay=-1.0), ValueError, "Invalid weight_decay value: -1.0"),
    (make("Adamax", -1.0), ValueError, "Invalid learning rate: -1.0"),
    (make("Adamax", eps=-1.0), ValueError, "Invalid epsilon value: -1.0"),
    (make("Adamax", betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
    (make("Adamax", weight_decay=-1.0), ValueError, "Invalid weight_decay value: -1.0"),
    (make("Adagrad", -1.0), ValueError, "Invalid learning rate: -1.0"),
    (make("Adagrad", lr_decay=-1.0), ValueError, "Invalid lr_decay value: -1.0"),
    (make("Adagrad", weight_decay=-1.0), ValueError, "Invalid weight_decay value: -1.0"),
    (
        make("Adagrad", initial_accumulator_value=-1.0),
        ValueError,
        "Invalid initial_accumulator_value value: -1.0",
    ),
    (make("Adagrad", eps=-1.0), ValueError, "Invalid epsilon value: -1.0"),
    (make("Adagrad", foreach=True, fused=True), RuntimeError, "cannot be `True` together."),
    (make("Adadelta", -1.0), ValueError, "Invalid learning rate: -1.0"),
    (make("Adadelta", rho=1.5), ValueError, "Invalid rho value: 1.5"),
    (make("Adadelta", eps=-1.0), ValueError, "Invalid epsilon value: -1.0"),
    (make("Adadelta", weight_decay=-1.0), ValueError, "Invalid weight_decay value: -1.0"),
    (make("Rprop", -1.0), ValueError, "Invalid learning rate: -1.0"),
    (make("Rprop", etas=(1.5, 1.2)), ValueError, "Invalid eta values: 1.5, 1.2"),
    (make("ASGD", -1.0), ValueError, "Invalid learning rate: -1.0"),
    (make("ASGD", weight_decay=-1.0), ValueError, "Invalid weight_decay value: -1.0"),
    (given(lambda lib: []), ValueError, "optimizer got an empty parameter list"),
    (given(lambda lib: lib.ones(2)), TypeError, "an iterable of Tensors or dicts, but got torch."),
    (given(lambda lib: [1]), TypeError, "optimizer can only optimize Tensors, but one of the"),
    (given(lambda lib: ["w"]), TypeError, "but one of the params is str"),
    (
        given(lambda lib: [lib.ones(2, requires_grad=True) * 2]),
        ValueError,
        "can't optimize a non-leaf Tensor",
    ),
    (
        given(lambda lib: [("a", lib.ones(2)), lib.ones(3)]),
        ValueError,
        "all optimizer params should be with/without names. Some param names are missing",
    ),
    (given(lambda lib: [{"lr": 0.1}]), KeyError, "params"),
    (add(lambda lib, w: [w]), TypeError, "param_group must be a dict, but got <class 'list'>"),
    (add(lambda lib, w: {"params": {w}}), TypeError, "need to be organized in ordered collections"),
    (add(lambda lib, w: {"params": w}), ValueError, "appear in more than one parameter group"),
    (
        add(lambda lib, w: {"params": [("b", lib.ones(2))]}),
        ValueError,
        "with/without names. cannot add param group with names to the optimizer",
    ),
    (
        lambda lib: lib.optim.Optimizer([lib.ones(2)], {"lr": required(lib)}),
        ValueError,
        "parameter group didn't specify a value of required optimization parameter lr",
    ),
    (lambda lib: lib.optim.Optimizer([lib.ones(2)], {}).step(), NotImplementedError, ""),
    (load([]), ValueError, "loaded state dict has a different number of parameter groups"),
    (load([{"params": [0, 1]}]), ValueError, "that doesn't match the size of optimizer's group"),
    (step_with_a_wrong_hook, RuntimeError, "must return None or a tuple of (new_args, new_kwargs)"),
]
ERRORS += [(tensor_lr(name), ValueError, "Tensor lr must be 1-element") for name in TENSOR_LR]
