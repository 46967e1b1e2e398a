"""Learns to balance a pole on a cart: REINFORCE, or an actor with a critic.

    python apps/rl.py                       the actor and its critic
    python apps/rl.py --algorithm reinforce

An epoch plays `--batch-size` episodes side by side, then takes a step of the policy; an episode
ends where the pole falls, the cart leaves the track, or after 500 steps, which is the best return.
Leaves `episode.gif` and curves of the returns: of drawn actions, and of the likelier ones (greedy).

Barto, Sutton and Anderson 1983 describe the cart; Williams 1992 REINFORCE; Schulman et al. 2016 the
advantages, which weigh the critic's answers over many steps.
"""

import argparse
import math
from typing import Any

import common
import numpy as np
import pictures
import read
from common import Run
from framework import F, nn, torch
from PIL import Image, ImageDraw

LONGEST = 500  # steps of an episode
WHY = "a network of two layers has nothing to save"


class CartPoles:
    """Carts side by side, in NumPy: states (n, 4) are place, speed, angle and angular speed."""

    GRAVITY, CART, POLE, HALF, FORCE, TICK = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def __init__(self, n: int) -> None:
        self.state = np.random.uniform(-0.05, 0.05, (n, 4))

    def step(self, right: np.ndarray) -> np.ndarray:
        """Pushes each cart right (1) or left (0) for a tick; whether it still stands, (n,)."""
        _, v, angle, spin = self.state.T
        force = np.where(right == 1, self.FORCE, -self.FORCE)
        total = self.CART + self.POLE
        sin, cos = np.sin(angle), np.cos(angle)
        push = (force + self.POLE * self.HALF * spin**2 * sin) / total
        inertia = self.HALF * (4 / 3 - self.POLE * cos**2 / total)
        turn = (self.GRAVITY * sin - cos * push) / inertia
        speedup = push - self.POLE * self.HALF * turn * cos / total
        change = np.stack([v, speedup, spin, turn], 1)
        self.state = self.state + self.TICK * change
        return (np.abs(self.state[:, 0]) < 2.4) & (np.abs(self.state[:, 2]) < math.radians(12))


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    parser = common.options(
        "rl",
        __doc__,
        data=("none",),
        epochs=120,
        batch_size=16,
        lr=1e-2,
        refuse={
            "data": "the episodes that it plays are its data",
            "amp": WHY,
            "checkpoint-activations": WHY,
            "compile": "its steps are as long as poles stand",
        },
    )
    add = parser.add_argument
    algorithms = ("actor-critic", "reinforce")
    add("--algorithm", choices=algorithms, default="actor-critic", help="default: actor-critic")
    add("--discount", type=read.fraction, default=0.99, help="of later rewards; default: 0.99")
    return common.parse(parser, argv)


def network(outputs: int) -> Any:
    return nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, outputs))


def play(actor: Any, args: argparse.Namespace, n: int, greedy: bool = False) -> tuple[Any, ...]:
    """States (T + 1, n, 4), actions (T, n), and whether a cart stood in each state (T + 1, n)."""
    carts, standing = CartPoles(n), np.ones(n, bool)
    states, lived = [carts.state], [standing]
    actions: list[np.ndarray] = []
    while standing.any() and len(actions) < LONGEST:
        x = torch.from_numpy(carts.state.astype(np.float32)).to(args.device)
        with torch.no_grad():
            scores = actor(x).cpu()
        chosen = scores.argmax(1) if greedy else scores.softmax(1).multinomial(1).flatten()
        standing = standing & carts.step(chosen.numpy())
        states.append(carts.state)
        lived.append(standing)
        actions.append(chosen.numpy())
    arrays = np.stack(states).astype(np.float32), np.stack(actions), np.stack(lived)
    return tuple(torch.from_numpy(array).to(args.device) for array in arrays)


def advantages(args: argparse.Namespace, values: Any, lived: Any) -> tuple[Any, Any]:
    """How much better each step was than expected, and the returns that values should be (T, n).

    A step's reward is 1. REINFORCE compares returns; the actor's critic, sums of its surprises.
    What comes after the longest episode is worth the critic's value: the cart did not fall.
    """
    fade = args.discount * (0.95 if args.algorithm == "actor-critic" else 1)
    later, found = torch.zeros_like(values[0]), []
    for t in reversed(range(len(lived) - 1)):
        surprise = 1.0 + args.discount * values[t + 1] * lived[t + 1] - values[t]
        later = (surprise + fade * later * lived[t + 1]) * lived[t]
        found.append(later)
    advantage = torch.stack(found[::-1])
    return advantage, advantage + values[:-1]


def learn(actor: Any, critic: Any, optimiser: Any, args: argparse.Namespace) -> dict[str, float]:
    """One step from a batch of episodes."""
    states, actions, stood = play(actor, args, args.batch_size)
    lived = stood[:-1].float()
    values = 50 * critic(states)[..., 0]  # (T + 1, n), of the size that returns have
    expected = values.detach() if args.algorithm == "actor-critic" else 0 * values.detach()
    advantage, target = advantages(args, expected, stood.float())
    mean = (advantage * lived).sum() / lived.sum()
    spread = (((advantage - mean) ** 2 * lived).sum() / lived.sum()).sqrt()
    scores = F.log_softmax(actor(states[:-1]), 2)
    chosen = scores.gather(2, actions[..., None])[..., 0]
    entropy = -((scores.exp() * scores).sum(2) * lived).sum() / lived.sum()
    gain = (chosen * (advantage - mean) / (spread + 1e-6) * lived).sum() / lived.sum()
    error = F.smooth_l1_loss(values[:-1] * lived, target * lived, reduction="sum") / lived.sum()
    optimiser.zero_grad()
    (error / 50 - gain).backward()
    nn.utils.clip_grad_norm_(actor.parameters(), 1.0)
    optimiser.step()
    returns = lived.sum(0)
    return {"episode_return": returns.mean().item(), "entropy": entropy.item()}


def frame(state: Any, width: int = 240, height: int = 120) -> np.ndarray:
    """A picture of a cart."""
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    x, angle, ground = width / 2 + float(state[0]) / 2.4 * width / 2, float(state[2]), height - 20
    draw.line((0, ground + 8, width, ground + 8), fill="gray")
    draw.rectangle((x - 16, ground - 6, x + 16, ground + 6), fill="black")
    tip = x + 70 * math.sin(angle), ground - 70 * math.cos(angle)
    draw.line((x, ground, *tip), fill=(200, 110, 40), width=6)
    return np.asarray(image)


def main(argv: list[str] | None = None) -> list[dict[str, float]]:
    args = parse_args(argv)
    actor, critic = network(2).to(args.device), network(1).to(args.device)
    optimiser = common.optimiser(args, [*actor.parameters(), *critic.parameters()])
    schedule = common.schedule(optimiser, 0.985)
    parts = {"actor": actor, "critic": critic, "optimiser": optimiser, "schedule": schedule}
    with Run(args, 1, **parts) as run:
        for epoch in run.epochs():
            for _ in run.counted([epoch]):
                figures = learn(actor, critic, optimiser, args)
            schedule.step()
            _, _, stood = play(actor, args, args.batch_size, greedy=True)
            run.record(**figures, greedy_return=stood[:-1].float().sum(0).mean().item())
    if run.trained:
        states, _, stood = play(actor, args, 1, greedy=True)
        shown = states[: int(stood.sum().item()), 0].cpu().numpy()[:250:3]
        pictures.save_gif([frame(state) for state in shown], args.out / "episode.gif", 240, 60)
    return run.history


if __name__ == "__main__":
    common.launch(main)
