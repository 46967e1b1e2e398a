"""Our solution of task 7.11."""

from __future__ import annotations


class Server:
    def __init__(self, parameter, workers, staleness, lr):
        self.parameter, self.staleness, self.lr = parameter, staleness, lr
        self.clocks, self.waiting = [0] * workers, []

    def ask(self, worker):
        self.waiting.append(worker)
        return self.answers()

    def gradient(self, worker, value):
        self.parameter -= self.lr * value
        self.clocks[worker] += 1
        return self.answers()

    def answers(self):
        slowest = min(self.clocks)
        found = [w for w in self.waiting if self.clocks[w] - slowest <= self.staleness]
        self.waiting = [w for w in self.waiting if w not in found]
        return [(worker, self.parameter) for worker in found]
