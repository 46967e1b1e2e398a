"""Typical uses of packages of probability and of differential equations."""

import math

import torch
from torch import nn
from uses import fit, normal, small_net, use


@use("torchdiffeq")
def solve_equations():
    from torchdiffeq import odeint, odeint_adjoint

    net, times, start = small_net(2, 2), torch.linspace(0, 1, 5), normal(3, 2)

    def field(t, y):
        return net(y)

    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, t, y):
            return self.net(y)

    found = [
        fit(net, lambda m=method: odeint(field, start, times, method=m)[-1].square().mean())
        for method in ("dopri5", "rk4", "implicit_adams")
    ]
    adjoint = fit(net, lambda: odeint_adjoint(Field(), start, times)[-1].square().mean())
    return found, adjoint, odeint(field, start, times)


@use("torchsde")
def solve_stochastic_equations():
    import torchsde

    class Sde(nn.Module):
        noise_type, sde_type = "diagonal", "ito"

        def __init__(self):
            super().__init__()
            self.drift, self.spread = nn.Linear(2, 2), nn.Linear(2, 2)

        def f(self, t, y):
            return self.drift(y)

        def g(self, t, y):
            return self.spread(y).sigmoid()

    sde, times = Sde(), torch.linspace(0, 1, 4)

    def loss(solve=torchsde.sdeint, **options):
        path = torchsde.BrownianInterval(
            0.0, 1.0, (3, 2), torch.float64, entropy=7, levy_area_approximation="space-time"
        )
        return solve(sde, torch.ones(3, 2), times, bm=path, dt=0.1, **options)[-1].square().mean()

    return fit(sde, loss), fit(sde, lambda: loss(torchsde.sdeint_adjoint, method="euler"))


@use("linear-operator")
def structured_matrices():
    from linear_operator import operators, to_linear_operator

    root, x = normal(5, 5).requires_grad_(), normal(5, 2)
    matrix = to_linear_operator(root @ root.mT + torch.eye(5)).add_diagonal(torch.tensor(0.5))
    toeplitz = operators.ToeplitzLinearOperator(torch.tensor([4.0, 1.0, 0.5, 0.25, 0.1]))
    kronecker = operators.KroneckerProductLinearOperator(matrix, to_linear_operator(torch.eye(2)))
    diagonal = operators.DiagLinearOperator(torch.arange(1.0, 6.0))
    parts = [
        matrix.solve(x),
        matrix.logdet(),
        matrix.cholesky().to_dense(),
        (matrix + diagonal).inv_quad_logdet(x, logdet=True)[0],
        kronecker @ normal(10, 1),
    ]
    sum(part.square().sum() for part in parts).backward()
    return parts, root.grad, toeplitz.to_dense(), toeplitz @ x


@use("gpytorch")
def gaussian_process():
    import gpytorch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x = torch.linspace(0, 1, 12)
    y = (x * 2 * math.pi).sin() + 0.1 * normal(12)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(x, y, likelihood)
    likelihood_of = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = fit(
        model, lambda: -likelihood_of(model(x), y), torch.optim.Adam(model.parameters(), 0.1)
    )
    model.eval(), likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        guess = likelihood(model(torch.linspace(0, 1, 5)))
    return losses, guess.mean, guess.variance


@use("botorch")
def optimize_by_guesses():
    from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    x = torch.rand(8, 2)
    y = -((x - 0.3) ** 2).sum(-1, keepdim=True)
    model = SingleTaskGP(x, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    improvement = LogExpectedImprovement(model, best_f=y.max())
    points = torch.rand(5, 1, 2).requires_grad_()
    improvement(points).sum().backward()
    bound = UpperConfidenceBound(model, beta=0.2)
    best, value = optimize_acqf(bound, bounds, q=1, num_restarts=2, raw_samples=8)
    return points.grad, best, value


@use("pyro-ppl")
def infer():
    import pyro
    from pyro import distributions as dist
    from pyro.infer import MCMC, NUTS, SVI, Trace_ELBO
    from pyro.infer.autoguide import AutoNormal

    data = 3 + 2 * normal(20)

    def model():
        centre = pyro.sample("centre", dist.Normal(0.0, 10.0))
        width = pyro.sample("width", dist.LogNormal(0.0, 1.0))
        with pyro.plate("data", len(data)):
            pyro.sample("x", dist.Normal(centre, width), obs=data)

    pyro.set_rng_seed(0)
    guide = AutoNormal(model)
    inference = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), loss=Trace_ELBO())
    losses = [inference.step() for _ in range(10)]
    chain = MCMC(NUTS(model), num_samples=5, warmup_steps=5, disable_progbar=True)
    chain.run()
    return losses, chain.get_samples()


@use("nflows")
def flows():
    from nflows.distributions.normal import StandardNormal
    from nflows.flows.base import Flow
    from nflows.transforms.autoregressive import MaskedAffineAutoregressiveTransform
    from nflows.transforms.base import CompositeTransform
    from nflows.transforms.permutations import ReversePermutation

    parts = [
        part
        for _ in range(2)
        for part in (ReversePermutation(2), MaskedAffineAutoregressiveTransform(2, 8))
    ]
    flow, x = Flow(CompositeTransform(parts), StandardNormal([2])), normal(16, 2)
    return fit(flow, lambda: -flow.log_prob(x).mean()), flow.sample(4)


@use("normflows")
def more_flows():
    import normflows

    flows = []
    for _ in range(2):
        shift = normflows.nets.MLP([1, 8, 2], init_zeros=False)
        flows += [
            normflows.flows.AffineCouplingBlock(shift),
            normflows.flows.Permute(2, mode="swap"),
        ]
    flows += [normflows.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8)]
    base, target = normflows.distributions.DiagGaussian(2), normflows.distributions.TwoMoons()
    net = normflows.NormalizingFlow(base, flows, target).double()
    x = normal(16, 2)
    losses = fit(net, lambda: net.forward_kld(x)), fit(net, lambda: net.reverse_kld(8))
    return losses, net.sample(3)


@use("zuko")
def normalize():
    import zuko

    x, c = normal(6, 3), normal(6, 2)
    spline = zuko.flows.NSF(3, 2, transforms=2, hidden_features=[8, 8])
    masked = zuko.flows.MAF(3, 0, transforms=2, hidden_features=[8, 8])
    found = fit(spline, lambda: -spline(c).log_prob(x).mean())
    return found + fit(masked, lambda: -masked().log_prob(x).mean()), masked().sample((3,))


@use("pytorch-crf")
def label_sequences():
    from torchcrf import CRF

    model, scores, labels = CRF(3, batch_first=True), normal(2, 5, 3), torch.randint(0, 3, (2, 5))
    return fit(model, lambda: -model(scores, labels)), model.decode(scores)
