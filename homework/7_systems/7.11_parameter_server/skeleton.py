"""Task 7.11: a parameter server."""

from __future__ import annotations


class Server:
    """Has a parameter, which workers ask for and send gradients of."""

    def __init__(self, parameter: float, workers: int, staleness: int, lr: float) -> None:
        """Begins with a parameter; workers are 0 to `workers` - 1."""
        raise NotImplementedError("task 7.11: a parameter server")

    def ask(self, worker: int) -> list[tuple[int, float]]:
        """Takes that a worker asks for the parameter; (worker, parameter) for all answered now."""
        raise NotImplementedError("task 7.11: a parameter server")

    def gradient(self, worker: int, value: float) -> list[tuple[int, float]]:
        """Takes a worker's gradient and steps; (worker, parameter) for all answered now."""
        raise NotImplementedError("task 7.11: a parameter server")
