"""REINFORCE (Williams 1992) on a pole that a cart balances."""

import math
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from record import Record, arguments
from torch.distributions import Categorical


class CartPole:
    """The pole of Barto, Sutton & Anderson (1983), by Euler's method."""

    def reset(self):
        self.state = [float(v) for v in torch.empty(4).uniform_(-0.05, 0.05)]
        return torch.tensor(self.state)

    def step(self, action):
        x, speed, angle, turn = self.state
        force = 10.0 if action == 1 else -10.0
        sin, cos = math.sin(angle), math.cos(angle)
        push = (force + 0.05 * turn**2 * sin) / 1.1
        turning = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        moving = push - 0.05 * turning * cos / 1.1
        x, speed = x + 0.02 * speed, speed + 0.02 * moving
        angle, turn = angle + 0.02 * turn, turn + 0.02 * turning
        self.state = [x, speed, angle, turn]
        return torch.tensor(self.state), 1.0, abs(x) > 2.4 or abs(angle) > 0.2095


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 64)
        self.dropout = nn.Dropout(p=0.6)
        self.affine2 = nn.Linear(64, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=1)


def select_action(policy, state):
    probs = policy(state.unsqueeze(0))
    m = Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode(policy, optimizer, gamma=0.99):
    R = 0
    returns = deque()
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    policy_loss = [-log_prob * R for log_prob, R in zip(policy.saved_log_probs, returns)]
    optimizer.zero_grad()
    loss = torch.cat(policy_loss).sum()
    loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return loss


def main():
    args = arguments(__doc__, batch=1)
    env, policy = CartPole(), Policy().to(args.dtype)
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    record = Record(args)
    running_reward = 10
    for _ in range(12):
        state, ep_reward = env.reset(), 0
        for _ in range(200):
            state, reward, done = env.step(select_action(policy, state.to(args.dtype)))
            policy.rewards.append(reward)
            ep_reward += reward
            if done:
                break
        running_reward = 0.05 * ep_reward + (1 - 0.05) * running_reward
        loss = finish_episode(policy, optimizer)
        record.step(loss, torch.tensor(running_reward))
    record.save()


if __name__ == "__main__":
    main()
