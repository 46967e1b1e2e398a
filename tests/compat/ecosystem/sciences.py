"""Typical uses of packages for simulation, physics, agents, diffusion and what lies between."""

import os

import torch
from torch import nn
from uses import fit, normal, small_net, use


@use("sbi")
def infer_from_simulations():
    from sbi.inference import NPE
    from sbi.utils import BoxUniform

    torch.set_default_dtype(torch.float32)  # it takes no other
    prior = BoxUniform(-torch.ones(2), torch.ones(2))
    parameters = prior.sample((60,))
    inference = NPE(prior, show_progress_bars=False)
    inference.append_simulations(parameters, parameters + 0.1 * normal(60, 2))
    inference.train(max_num_epochs=2, training_batch_size=20)
    posterior = inference.build_posterior()
    return posterior.log_prob(normal(3, 2) * 0.1, x=torch.zeros(1, 2))


@use("deepxde")
def solve_by_a_net():
    os.environ["DDE_BACKEND"] = "pytorch"
    import deepxde

    deepxde.config.set_random_seed(0)
    line = deepxde.geometry.Interval(-1, 1)
    border = deepxde.icbc.DirichletBC(line, lambda x: 0, lambda _, on: on)

    def equation(x, y):
        return -deepxde.grad.hessian(y, x) - torch.ones_like(x)

    data = deepxde.data.PDE(line, equation, border, 16, 2)
    model = deepxde.Model(data, deepxde.nn.FNN([1, 10, 1], "tanh", "Glorot uniform"))
    model.compile("adam", lr=1e-3)
    history, _ = model.train(iterations=10, verbose=0)
    return [float(loss) for loss in history.loss_train[-1]]


@use("pykeen")
def embed_a_graph():
    from pykeen.pipeline import pipeline

    quiet = {"use_tqdm": False}
    found = pipeline(
        dataset="nations",
        model="TransE",
        training_kwargs={"num_epochs": 2, **quiet},
        evaluation_kwargs=quiet,
        random_seed=0,
        device="cpu",
    )
    return found.losses


@use("stable-baselines3")
def learn_by_reward():
    from stable_baselines3 import DQN, PPO

    torch.set_default_dtype(torch.float32)  # that of its observations
    ppo = PPO("MlpPolicy", "CartPole-v1", n_steps=32, batch_size=16, n_epochs=1, seed=0)
    dqn = DQN("MlpPolicy", "CartPole-v1", learning_starts=20, seed=0)
    return [[p.sum() for p in agent.learn(40).policy.parameters()] for agent in (ppo, dqn)]


@use("diffusers")
def denoise():
    from diffusers import DDIMScheduler, DDPMScheduler, UNet2DModel

    net = UNet2DModel(
        sample_size=8,
        layers_per_block=1,
        block_out_channels=(32, 64),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    noise, schedule = normal(2, 3, 8, 8), DDPMScheduler(num_train_timesteps=100)
    times = torch.tensor([10, 70])
    noisy = schedule.add_noise(normal(2, 3, 8, 8), noise, times)
    losses = fit(net, lambda: nn.functional.mse_loss(net(noisy, times).sample, noise))
    sampler = DDIMScheduler(num_train_timesteps=100)
    sampler.set_timesteps(3)
    x = noise
    with torch.no_grad():
        for time in sampler.timesteps:
            x = sampler.step(net(x, time).sample, time, x).prev_sample
    return losses, x


@use("spikingjelly")
def spike_through_layers():
    from spikingjelly.activation_based import functional, layer, neuron, surrogate

    neurons = neuron.LIFNode(surrogate_function=surrogate.ATan())
    net = nn.Sequential(layer.Linear(4, 16), neurons, layer.Linear(16, 3))
    x, y = 3 * normal(5, 4), normal(5, 3)

    def loss():
        functional.reset_net(net)
        return nn.functional.mse_loss(sum(net(x) for _ in range(4)) / 4, y)

    return fit(net, loss)


@use("backpack-for-pytorch")
def more_than_gradients():
    from backpack import backpack, extend
    from backpack.extensions import BatchGrad, DiagGGNExact, Variance

    net, loss = extend(small_net(4, 3)), extend(nn.CrossEntropyLoss())
    with backpack(BatchGrad(), DiagGGNExact(), Variance()):
        loss(net(normal(6, 4)), torch.arange(6) % 3).backward()
    return [(p.grad_batch, p.diag_ggn_exact, p.variance) for p in net.parameters()]


@use("torch-ema")
def average_and_restore():
    from torch_ema import ExponentialMovingAverage

    net = small_net()
    average = ExponentialMovingAverage(net.parameters(), 0.9)
    for _ in range(2):
        fit(net, lambda: net(normal(6, 4)).square().mean(), steps=1)
        average.update()
    with average.average_parameters():
        averaged = [p.clone() for p in net.parameters()]
    return averaged, list(net.parameters())


@use("pytorch-warmup")
def warm_up():
    import pytorch_warmup

    optimizer = torch.optim.AdamW(small_net().parameters(), 0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    warmup, rates = pytorch_warmup.UntunedLinearWarmup(optimizer), []
    for _ in range(6):
        optimizer.step()
        with warmup.dampening():
            schedule.step()
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


@use("torch-pruning")
def prune_what_hangs_together():
    import torch_pruning

    net = small_net()
    graph = torch_pruning.DependencyGraph().build_dependency(net, normal(1, 4))
    prune = torch_pruning.prune_linear_out_channels
    graph.get_pruning_group(net[0], prune, idxs=[0, 2]).prune()
    return list(net.parameters()), net(normal(2, 4))


@use("pot")
def transport():
    import ot

    x, y = normal(5, 2), normal(4, 2).requires_grad_()
    rows, columns = torch.full((5,), 1 / 5), torch.full((4,), 1 / 4)
    cost = ot.sinkhorn2(rows, columns, ot.dist(x, y), 1.0)
    return cost, torch.autograd.grad(cost, y), ot.sliced_wasserstein_distance(x, x + 1, seed=0)


@use("torchcde")
def interpolate():
    import torchcde

    coefficients = torchcde.hermite_cubic_coefficients_with_backward_differences(normal(2, 9, 3))
    curve = torchcde.CubicSpline(coefficients)
    return coefficients, curve.evaluate(torch.tensor(0.3)), curve.derivative(torch.tensor(2.5))


@use("laplace-torch")
def doubt():
    from laplace import Laplace

    net, data = small_net(4, 3), torch.utils.data.TensorDataset(normal(20, 4), torch.arange(20) % 3)
    found = Laplace(net, "classification", hessian_structure="full")
    found.fit(torch.utils.data.DataLoader(data, batch_size=10))
    found.optimize_prior_precision()
    return found(normal(3, 4))


@use("mup")
def change_the_width():
    from mup import MuAdam, MuReadout, set_base_shapes

    def make(width):
        return nn.Sequential(nn.Linear(4, width), nn.ReLU(), MuReadout(width, 2))

    net = set_base_shapes(make(16), make(4), delta=make(8))
    optimizer = MuAdam(net.parameters(), lr=0.01)
    net(normal(3, 4)).sum().backward()
    optimizer.step()
    return list(net.parameters())
