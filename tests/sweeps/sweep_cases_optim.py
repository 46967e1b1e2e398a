"""Samples of optim, its schedulers and averages."""

# ruff: noqa: E501 -- a sample is one string

from sweeps.sweep_cases import PREPARE, of

# Three parameters, of which one is in a group of its own; TRAIN makes some steps.
OPTIM = """
t = x.detach() if x.is_floating_point() else x.detach().float()
P = [nn.Parameter(t.clone()), nn.Parameter(t[0].mT.clone()), nn.Parameter(t[0, 0, 0].clone())]
def closure():
    O.zero_grad()
    loss = sum(((q - 0.5) ** 2).sum() * (i + 1) for i, q in enumerate(P))
    loss.backward()
    return loss
def train(steps):
    for _ in range(steps):
        O.step(closure)
    return [[q.detach() for q in P], O.state_dict()]
"""
COMMON = (
    "",
    "lr=0.01",
    "weight_decay=0.1",
    "maximize=True",
    "foreach=True",
    "foreach=False",
    "differentiable=False",
    "lr=torch.tensor(0.01)",
    "lr=-1",
    "weight_decay=-1",
    "wrong=1",
)
OPTIMIZERS = {
    "SGD": ("momentum=0.9", "momentum=0.9, nesterov=True", "nesterov=True", "momentum=0.5, dampening=0.3, weight_decay=0.1", "momentum=-1", "0.1, 0.9"),
    "Adam": ("betas=(0.5, 0.9)", "amsgrad=True", "eps=1e-2", "betas=(1.0, 0.9)", "eps=-1", "0.1, (0.8, 0.9), 1e-6, 0.1", "decoupled_weight_decay=True, weight_decay=0.1"),
    "AdamW": ("betas=(0.5, 0.9)", "amsgrad=True", "eps=1e-2", "betas=(1.0, 0.9)", "eps=-1", "0.1, (0.8, 0.9), 1e-6, 0.1"),
    "NAdam": ("betas=(0.5, 0.9)", "momentum_decay=0.1", "decoupled_weight_decay=True, weight_decay=0.1", "momentum_decay=-1", "betas=(0.9, 2)"),
    "RAdam": ("betas=(0.5, 0.9)", "betas=(0.9, 0.99), eps=0.1", "decoupled_weight_decay=True, weight_decay=0.1", "betas=(-1, 0.9)"),
    "Adamax": ("betas=(0.5, 0.9)", "eps=0.1", "betas=(0.9, 1.5)", "0.1, (0.8, 0.9), 1e-6, 0.1"),
    "RMSprop": ("alpha=0.5", "centered=True", "momentum=0.9", "momentum=0.9, centered=True, weight_decay=0.1", "alpha=-1", "momentum=-1", "eps=-1"),
    "Adagrad": ("lr_decay=0.1", "initial_accumulator_value=0.5", "eps=0.1", "lr_decay=-1", "initial_accumulator_value=-1", "0.1, 0.2, 0.3"),
    "Adadelta": ("rho=0.5", "eps=0.1", "rho=1.5", "eps=-1", "0.5, 0.8"),
    "Rprop": ("etas=(0.4, 1.3)", "step_sizes=(1e-3, 0.1)", "etas=(1.2, 1.3)", "0.1, (0.3, 1.1)"),
    "ASGD": ("lambd=0.1", "alpha=0.5", "t0=2", "lambd=0.1, alpha=0.5, t0=1, weight_decay=0.1", "0.1, 0.2"),
    "Adafactor": ("beta2_decay=-0.5", "eps=(1e-3, 0.1)", "d=1.5", "beta2_decay=0.5", "eps=(-1, 1)", "d=0.5", "0.1, -0.8, (1e-2, 1e-2), 2.0, 0.1"),
    "Muon": ("momentum=0.5", "nesterov=False", "ns_steps=3", "adjust_lr_fn='match_rms_adamw'", "adjust_lr_fn='none'", "momentum=-1", "0.1, 0.1, 0.9"),
    "LBFGS": ("max_iter=3", "history_size=2", "line_search_fn='strong_wolfe'", "max_iter=2, max_eval=1", "tolerance_grad=1e-2", "line_search_fn='none'", "0.5, 4", "tolerance_change=0.1"),
}  # fmt: skip
for name, options in OPTIMIZERS.items():
    of(
        f"optim.{name}",
        *[f"O = torch.NAME(P, {a})\ntrain(4)" for a in (*COMMON, *options)],
        "O = torch.NAME(P)\nrepr(O), x", "O = torch.NAME([{'params': P[:1], 'lr': 0.1}, {'params': P[1:]}], lr=0.01)\n[train(3), repr(O)]", "O = torch.NAME([])", "O = torch.NAME(P[0])", "O = torch.NAME([x * 1])", "O = torch.NAME([3])",
        "O = torch.NAME(P + P[:1])\ntrain(1)", "O = torch.NAME(nn.Linear(2, 2).named_parameters())\n[repr(O), O.state_dict()], x", "O = torch.NAME(P)\nP[1].requires_grad_(False)\ntrain(2)", "O = torch.NAME(iter(P))\nS = train(3)[1]\nO = torch.NAME(P)\nO.load_state_dict(S)\ntrain(2)",
        "O = torch.NAME(P)\ntrain(2)\nO = pickle.loads(pickle.dumps(O))\n[O.state_dict(), repr(O)]", "O = torch.NAME([{'params': P, 'wrong': 1}])\nO.state_dict(), x", "O = torch.NAME([{'lr': 1}])", "[*inspect.signature(torch.NAME).parameters], x", "O = torch.NAME(P)\nO.step()\nO.state_dict()",
        prepare=OPTIM,
    )  # fmt: skip
BASE = (
    OPTIM
    + "O = torch.optim.SGD([{'params': P[:1], 'lr': 0.1}, {'params': P[1:]}], lr=0.01, momentum=0.9)\n"
)
of(
    "optim.Optimizer",
    "repr(torch.NAME(P, {'lr': 3})), x",
    "torch.NAME(P, {}).state_dict(), x",
    "torch.NAME(P)",
    "torch.NAME([], {})",
    "torch.NAME(3, {})",
    "torch.NAME(P, {'lr': 1}).step()",
    "torch.NAME(P, {'lr': 1}).param_groups",
    "torch.NAME(x, {})",
    "torch.NAME([{'params': P}, {'params': P}], {})",
    "torch.NAME([{'params': P, 'b': 2}], {'a': 1}).state_dict(), x",
    prepare=OPTIM,
)
of(
    "optim.Optimizer.add_param_group",
    *[
        f"R = O.LAST({a})\n[R, O.state_dict(), repr(O), train(2)]"
        for a in (
            "{'params': nn.Parameter(t.clone())}",
            "{'params': [nn.Parameter(t.clone())], 'lr': 3}",
            "{'params': P}",
            "{'params': [3]}",
            "{'params': x * 1}",
            "{}",
            "3",
            "{'params': {nn.Parameter(t.clone())}}",
            "{'params': iter([nn.Parameter(t.clone())]), 'momentum': 0.1}",
            "{'params': [nn.Parameter(t)] * 2}",
            "{'params': []}",
        )
    ],
    prepare=BASE,
)
of(
    "optim.Optimizer.defaults optim.Optimizer.param_groups optim.Optimizer.state",
    "O.LAST, x",
    "train(2)\nO.LAST, x",
    "O.LAST is O.LAST, x",
    "type(O.LAST).__name__, x",
    "O.param_groups[0]['lr'] = 5\nO.LAST, x",
    "len(O.LAST), x",
    "O.defaults['lr'] = 3\n[O.LAST, train(1)]",
)
of(
    "optim.Optimizer.__repr__",
    "repr(O), x",
    "str(O), x",
    "O.param_groups[0]['lr'] = 5\nrepr(O), x",
    "torch.optim.Adam.__repr__(O), x",
    "repr(torch.optim.Adam(P, lr=torch.tensor(0.5))), x",
)
of(
    "optim.Optimizer.state_dict",
    "O.state_dict(), x",
    "train(2)\nO.state_dict()",
    "O.state_dict(3)",
    "S = train(1)[1]\nS['state'][0]['momentum_buffer'] is O.state[P[0]]['momentum_buffer'], x",
    "[*train(1)[1]['state']], x",
    "type(O.state_dict()).__name__, x",
)
of(
    "optim.Optimizer.load_state_dict",
    *[
        f"S = copy.deepcopy(train(2)[1])\n{change}\nO.load_state_dict(S)\n[O.state_dict(), train(2)]"
        for change in (
            "pass",
            "S['param_groups'].pop()",
            "S['param_groups'][0]['params'] = []",
            "S['param_groups'][0]['lr'] = 7",
            "S['state'] = {}",
            "S['state'][0]['momentum_buffer'] = S['state'][0]['momentum_buffer'].double()",
            "S = 3",
            "S.pop('state')",
            "S['state'][9] = {}",
            "S['param_groups'][0]['more'] = 1",
            "del S['param_groups'][0]['momentum']",
        )
    ],
    prepare=BASE,
)
of(
    "optim.Optimizer.step",
    "closure()\n[O.step(), P]",
    "[O.step(closure), P]",
    "O.step()\nP",
    "O.step(closure=closure)",
    "O.step(3)",
    "O.step(lambda: 3)",
    "closure()\nP[0].grad = None\nO.step()\nP",
    "torch.optim.Optimizer.step(O)",
    "closure()\nfor _ in range(5):\n    O.step()\nP",
    prepare=BASE,
)
of(
    "optim.Optimizer.zero_grad",
    "closure()\nO.zero_grad()\n[q.grad for q in P], x",
    "closure()\nO.zero_grad(False)\n[q.grad for q in P]",
    "closure()\nO.zero_grad(set_to_none=False)\n[q.grad for q in P]",
    "O.zero_grad() is None, x",
    "closure()\nG = P[0].grad\nO.zero_grad(False)\nP[0].grad is G, x",
    "O.zero_grad(wrong=1)",
    prepare=BASE,
)
for name in ("step_pre", "step_post"):
    of(
        f"optim.Optimizer.register_{name}_hook",
        "R = []\nO.LAST(lambda o, args, kwargs: R.append([o is O, len(args), [*kwargs]]))\ntrain(2)\nR, x",
        "H = O.LAST(lambda *a: 1 / 0)\nH.remove()\ntrain(2)",
        "O.LAST(lambda *a: 1 / 0)\ntrain(1)",
        "O.LAST(lambda *a: 3)\ntrain(1)",
        "O.LAST(lambda o, args, kwargs: (args, kwargs))\ntrain(1)",
        "O.LAST()",
        "R = []\nO.LAST(lambda *a: R.append(1))\nO.LAST(lambda *a: R.append(2))\ntrain(1)\nR, x",
    )
for name in ("state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post"):
    of(
        f"optim.Optimizer.register_{name}_hook",
        "R = []\nO.LAST(lambda *a: R.append([len(a), a[0] is O]))\nO.load_state_dict(O.state_dict())\nR, x",
        "H = O.LAST(lambda *a: 1 / 0)\nH.remove()\nO.load_state_dict(O.state_dict())",
        "O.LAST(lambda *a: 1 / 0)\nO.load_state_dict(O.state_dict())",
        "R = []\nO.LAST(lambda *a: R.append(1))\nO.LAST(lambda *a: R.append(2), prepend=True)\nO.load_state_dict(O.state_dict())\nR, x",
        "O.LAST(lambda o, s=None: {'state': {}, 'param_groups': O.param_groups})\n[O.state_dict(), x]",
        "O.LAST()",
        "O.LAST(lambda: 3)\nO.load_state_dict(O.state_dict())",
    )

for name in (
    "add_param_group",
    "defaults",
    "param_groups",
    "state",
    "__repr__",
    "state_dict",
    "load_state_dict",
    *[
        f"register_{h}_hook"
        for h in (
            "step_pre",
            "step_post",
            "state_dict_pre",
            "state_dict_post",
            "load_state_dict_pre",
            "load_state_dict_post",
        )
    ],
):
    PREPARE[f"optim.Optimizer.{name}"] = BASE

# -------------------------------------------------------------------------------------- schedulers

# The rates of ten steps, then what the scheduler keeps, also in a second one that goes on with it.
SCHEDULE = """
L = torch.optim.lr_scheduler
def optimizer():
    groups = [{'params': [nn.Parameter(torch.ones(2))], 'lr': 0.5}, {'params': [nn.Parameter(torch.ones(1))]}]
    return torch.optim.SGD(groups, lr=0.1, momentum=0.9)
O = optimizer()
def rates(S, steps=10, *losses):
    found = [S.get_last_lr()]
    for i in range(steps):
        S.optimizer.step()
        S.step(*losses[i : i + 1])
        found.append([S.get_last_lr(), [g['lr'] for g in S.optimizer.param_groups], S.optimizer.param_groups[0]['momentum']])
    return found
def kept(S):
    return {k: v for k, v in S.state_dict().items() if not isinstance(v, (list, dict)) or k in ('base_lrs', '_last_lr')}
"""
SCHEDULERS = {
    "LRScheduler": ("", "last_epoch=3", "wrong=1"),
    "_LRScheduler": ("", "last_epoch=3", "wrong=1"),
    "ConstantLR": ("", "0.5, 3", "factor=2", "total_iters=0", "0.1, 2, 3"),
    "LinearLR": ("", "0.5, 0.1, 4", "start_factor=0", "end_factor=2", "total_iters=3", "1.0, 0.1, 0"),
    "StepLR": ("3", "step_size=2, gamma=0.5", "0", "", "3, 0.1, 4", "2.5"),
    "MultiStepLR": ("[2, 5]", "[2, 2, 6], 0.5", "[]", "[5, 2]", "milestones=(3,), gamma=2", "3", ""),
    "ExponentialLR": ("0.5", "gamma=1.1", "", "0", "'a'"),
    "CosineAnnealingLR": ("5", "5, 0.01", "T_max=20", "0", "eta_min=0.1", "3, eta_min=1"),
    "CosineAnnealingWarmRestarts": ("3", "2, 2", "T_0=4, eta_min=0.01", "0", "3, 0", "2.5", "3, 1.5", "2, T_mult=3"),
    "LambdaLR": ("lambda e: 0.9**e", "[lambda e: 1, lambda e: 1 / (e + 1)]", "[lambda e: 1]", "3", "lr_lambda=lambda e: e", "lambda: 1"),
    "MultiplicativeLR": ("lambda e: 0.9", "[lambda e: 1.1, lambda e: 1 / (e + 1)]", "[lambda e: 1]", "3", "lr_lambda=lambda e: e", "lambda: 1"),
    "PolynomialLR": ("", "4, 2", "total_iters=0", "power=0.5", "4, power=0", "total_iters=20, power=3.0"),
    "CyclicLR": ("0.1, 0.5, 2", "0.1, 0.5, 2, 3, 'triangular2'", "0.1, 0.5, 4, mode='exp_range', gamma=0.9", "[0.1, 0.2], [0.3, 0.4], 3", "0.1, 0.5, 2, cycle_momentum=False", "0.1, 0.5, 2, mode='none'", "0.1, 0.5, 3, scale_fn=lambda q: 1 / (q + 1)", "0.1, 0.5, 3, scale_fn=lambda q: 0.9**q, scale_mode='iterations'", "[0.1], 0.5", "0.1, 0.5, 2, base_momentum=0.5, max_momentum=0.95"),
    "OneCycleLR": ("0.5, 20", "0.5, epochs=4, steps_per_epoch=5", "0.5", "0.5, 20, pct_start=0.5, anneal_strategy='linear'", "[0.5, 0.2], 12, three_phase=True", "0.5, 12, cycle_momentum=False", "0.5, 12, div_factor=5, final_div_factor=10", "0.5, 8", "0.5, 0", "0.5, 12, pct_start=2", "0.5, 12, anneal_strategy='none'", "[0.5], 12", "0.5, 12, base_momentum=0.3, max_momentum=0.7", "0.5, -3", "0.5, 3.5"),
}  # fmt: skip
for name, options in SCHEDULERS.items():
    of(
        f"optim.lr_scheduler.{name}",
        *[f"S = L.{name}(O, {a})\n[rates(S), kept(S)]" for a in options],
        *[f"S = L.{name}(O, {a})\nrates(S, 4)\nR = L.{name}(optimizer(), {a})\nR.load_state_dict(S.state_dict())\n[rates(R, 3), kept(R)]" for a in options[:3]],
        f"S = L.{name}(O, {options[0]})\nS.load_state_dict(3)", f"L.{name}(3, {options[0]})", f"S = L.{name}(O, {options[0]})\nS.step(4)\n[S.get_last_lr(), S.last_epoch]", f"S = L.{name}(O, {options[0]})\n[S.get_lr() is None, [g.get('initial_lr') for g in O.param_groups]]", f"[*inspect.signature(L.{name}).parameters]", f"[repr(q.default) for q in inspect.signature(L.{name}).parameters.values() if not callable(q.default)]",
        f"O.param_groups[0]['initial_lr'] = 0.3\nO.param_groups[1]['initial_lr'] = 0.2\nS = L.{name}(O, {options[0]}{', ' if options[0] else ''}last_epoch=2)\n[rates(S, 4), kept(S)]",
        prepare=SCHEDULE,
    )  # fmt: skip
of(
    "optim.lr_scheduler.ReduceLROnPlateau",
    *[f"S = L.ReduceLROnPlateau(O, {a})\n[rates(S, 12, 3.0, 2.0, 2.0, 2.0, 2.0, 2.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0), kept(S)]" for a in ("patience=1", "'max', patience=2", "factor=0.5, patience=0, cooldown=2", "patience=1, threshold=0.5, threshold_mode='abs'", "patience=0, min_lr=0.05", "patience=0, min_lr=[0.1, 0.001], eps=0.01", "'none'", "factor=1.0", "threshold_mode='none'", "min_lr=[0.1]")],
    "S = L.ReduceLROnPlateau(O)\nS.step()", "S = L.ReduceLROnPlateau(O)\nS.step('a')", "S = L.ReduceLROnPlateau(O, patience=1)\nrates(S, 4, 1.0, 1.0, 1.0, 1.0)\nR = L.ReduceLROnPlateau(optimizer())\nR.load_state_dict(S.state_dict())\n[kept(R), rates(R, 3, 1.0, 1.0, 1.0)]", "S = L.ReduceLROnPlateau(O, patience=0)\nrates(S, 4, torch.tensor(1.0), 1, math.nan, math.inf)", "[*inspect.signature(L.ReduceLROnPlateau).parameters]", "L.ReduceLROnPlateau(3)", prepare=SCHEDULE,
)  # fmt: skip
MANY = "[L.ConstantLR(O, 0.1, 2), L.ExponentialLR(O, 0.5), L.StepLR(O, 2)]"
of(
    "optim.lr_scheduler.SequentialLR",
    *[
        f"S = L.SequentialLR({a})\n[rates(S), kept(S)]"
        for a in (
            f"O, {MANY}, [2, 5]",
            f"O, schedulers={MANY}, milestones=[1, 8]",
            f"O, {MANY}, [2]",
            "O, [], []",
            "O, [3], []",
            f"optimizer(), {MANY}, [2, 5]",
            f"O, {MANY}, [5, 2]",
            f"O, {MANY}[:1], []",
            f"O, {MANY}",
            "O, [L.LinearLR(O, 0.1, 1.0, 3), L.CosineAnnealingLR(O, 5)], [3]",
        )
    ],
    f"S = L.SequentialLR(O, {MANY}, [2, 5])\nrates(S, 4)\nO = optimizer()\nR = L.SequentialLR(O, {MANY}, [2, 5])\nR.load_state_dict(S.state_dict())\n[kept(R), rates(R, 3)]",
    prepare=SCHEDULE,
)
of(
    "optim.lr_scheduler.ChainedScheduler",
    *[
        f"S = L.ChainedScheduler({a})\n[rates(S), kept(S)]"
        for a in (
            MANY,
            f"{MANY}, O",
            f"{MANY}, optimizer=optimizer()",
            "[]",
            "[3]",
            "3",
            f"[{MANY}[0], L.StepLR(optimizer(), 2)]",
            f"{MANY}[:1]",
            "",
            "[L.LinearLR(O, 0.1, 1.0, 3), L.CosineAnnealingLR(O, 5)]",
        )
    ],
    f"S = L.ChainedScheduler({MANY})\nrates(S, 4)\nO = optimizer()\nR = L.ChainedScheduler({MANY})\nR.load_state_dict(S.state_dict())\n[kept(R), rates(R, 3)]",
    prepare=SCHEDULE,
)
EVERY = (
    "StepLR(O, 2)",
    "LambdaLR(O, lambda e: 0.5**e)",
    "CosineAnnealingLR(O, 4)",
    "MultiStepLR(O, [1, 3])",
    "OneCycleLR(O, 0.5, 9)",
)
of(
    "optim.lr_scheduler.LRScheduler.get_last_lr optim.lr_scheduler.LRScheduler.last_epoch optim.lr_scheduler.LRScheduler.state_dict",
    *[
        f"S = L.{a}\nrates(S, {n})\nR = S.LAST\nsorted(R.items(), key=str) if isinstance(R, dict) else R if isinstance(R, int) else R()"
        for a in EVERY
        for n in (0, 1, 3)
    ],
    prepare=SCHEDULE,
)
of(
    "optim.lr_scheduler.LRScheduler.load_state_dict optim.lr_scheduler.LRScheduler.step",
    *[
        f"S = L.{a}\nrates(S, 3)\nR = L.{a.replace('O', 'optimizer()', 1) if a[0] != 'O' else 'OneCycleLR(optimizer(), 0.5, 9)'}\nR.load_state_dict(S.state_dict())\n{more}"
        for a in EVERY
        for more in ("kept(R)", "rates(R, 2)", "R.step(7)\n[R.get_last_lr(), R.last_epoch]")
    ],
    prepare=SCHEDULE,
)

# ------------------------------------------------------------------------------- optim.swa_utils

SWA = "X = x if x.is_floating_point() else x.float()\nU = torch.optim.swa_utils\nM = nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(4)).to(X.dtype)\n"
of(
    "optim.swa_utils.AveragedModel",
    *[
        f"A = U.AveragedModel({a})\nfor _ in range(3):\n    for q in M.parameters():\n        q.data.mul_(1.5)\n    A.update_parameters(M)\n[A.state_dict(), A(X), repr(A)]"
        for a in (
            "M",
            "M, use_buffers=True",
            "M, avg_fn=lambda a, q, n: 0.5 * a + 0.5 * q",
            "M, multi_avg_fn=U.get_ema_multi_avg_fn(0.9)",
            "M, torch.device('cpu')",
            "M, multi_avg_fn=U.get_ema_multi_avg_fn(), use_buffers=True",
            "3",
            "M, avg_fn=3",
            "M, avg_fn=len, multi_avg_fn=len",
        )
    ],
    prepare=SWA,
)
of(
    "optim.swa_utils.get_ema_multi_avg_fn",
    *[
        f"A = [q.detach().clone() for q in M.parameters()]\nR = torch.NAME({a})(A, [q * 2 for q in A], 3)\n[R, A]"
        for a in ("", "0.5", "decay=0.0", "1.0", "1.5", "-0.1", "'a'")
    ],
    prepare=SWA,
)
of(
    "optim.swa_utils.update_bn",
    *[
        f"R = U.update_bn({a})\n[R, M.state_dict(), M.training, M[1].momentum]"
        for a in (
            "[X, X * 2], M",
            "[(X, i)], M",
            "[], M",
            "[X], M.eval()",
            "[X], nn.Linear(5, 2).to(X.dtype)",
            "[X], M, 'cpu'",
            "[{'a': X}], M",
            "data.DataLoader(X, 3), M",
            "3, M",
            "[X], 3",
        )
    ],
    prepare=SWA,
)
of(
    "optim.swa_utils.SWALR",
    *[
        f"S = torch.optim.swa_utils.SWALR({a})\n[rates(S), kept(S)]"
        for a in (
            "O, 0.05",
            "O, [0.05, 0.5], 5",
            "O, swa_lr=0.01, anneal_epochs=4, anneal_strategy='linear'",
            "O, 0.05, 0",
            "O, 0.05, -1",
            "O, 0.05, anneal_strategy='none'",
            "O, [0.1]",
            "O",
            "3, 0.1",
            "O, 0.05, 2.5",
            "O, 0.2, 3, 'cos', 4",
        )
    ],
    "S = torch.optim.swa_utils.SWALR(O, 0.05, 4)\nrates(S, 2)\nR = torch.optim.swa_utils.SWALR(optimizer(), 0.05, 4)\nR.load_state_dict(S.state_dict())\n[rates(R, 3), kept(R)]",
    prepare=SCHEDULE,
)
of(
    "optim.lr_scheduler",
    "sorted(q for q in dir(torch.NAME) if q.endswith('LR') and q[0] != '_' and q != 'SWALR'), x",
    "torch.NAME.StepLR is torch.optim.lr_scheduler.StepLR, x",
    "torch.NAME.nothing",
    "torch.NAME.__name__, x",
)
of(
    "optim.swa_utils",
    "torch.NAME.__name__, x",
    "torch.NAME.nothing",
    "callable(torch.NAME.update_bn), x",
    "torch.NAME.SWALR.__name__, x",
)
# PyTorch's LBFGS takes gradients as views of one dim, so that they must be contiguous. Two iterations
# of it do not yet reach the minimum, where the differences it divides by are rounding errors.
PREPARE["optim.LBFGS"] = (
    OPTIM.replace("t[0].mT.clone()", "t[0].mT.contiguous()")
    .replace("t.clone()", "t.contiguous().clone()")
    .replace("x.detach().float()", "x.detach().double()")
    .replace("train(steps):", "train(steps):\n    O.param_groups[0]['max_iter'] = 2\n    steps = 1")
)
