"""What saving and loading share: leaves of nested state dicts, and errors that all ranks raise."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import tiny_torch as torch
from tiny_torch.distributed.world import group_of

T = TypeVar("T")


class CheckpointException(BaseException):
    """Saving or loading failed at some ranks: `failures` has their exceptions, by rank."""

    def __init__(self, msg: str, failures: dict[int, tuple[BaseException, str]]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, tuple[BaseException, str]]:
        """The exceptions and their tracebacks, by rank."""
        return self._failures

    def __str__(self) -> str:
        text = f"CheckpointException ranks:{self._failures.keys()}\n"
        for rank, (_, trace) in self._failures.items():
            text += f"Traceback (most recent call last): (RANK {rank})\n{trace}\n"
        return text


class Ranks:
    """The ranks that write or read together; one alone, if there is no process group."""

    def __init__(self, group: Any, alone: bool) -> None:
        self.group = group_of(group) if not alone and torch.distributed.is_initialized() else None
        self.rank = self.group.rank() if self.group is not None else 0
        self.size = self.group.size() if self.group is not None else 1

    def gather(self, name: str, work: Callable[[], T]) -> list[T]:
        """What `work()` answers at each rank; CheckpointException at all if it fails at one."""
        ours: tuple[Any, Any]
        try:
            ours = work(), None
        except Exception as error:
            ours = None, (sendable(error), traceback.format_exc())
        answers: list[Any] = [ours]
        if self.group is not None:
            answers = [ours] * self.size
            torch.distributed.all_gather_object(answers, ours, self.group)
        failures: dict[int, Any] = {rank: f for rank, (_, f) in enumerate(answers) if f is not None}
        if failures:
            raise CheckpointException(name, failures)
        return [answer for answer, _ in answers]


def sendable(error: Exception) -> Exception:
    """The exception, or its text where other ranks could not read it."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def state_of(thing: Any) -> Any:
    """A part of a state dict: of a module, an optimizer and their like, `state_dict()` of it."""
    if hasattr(thing, "state_dict") and hasattr(thing, "load_state_dict"):
        return thing.state_dict()
    return thing


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[str, Any, Any, Any]]:
    """(path, container, key, value) of each entry: dicts are walked, lists with what lies deeper.

    A list of plain values is one entry.
    """
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        below = (*path, key)
        if is_walked(value):
            yield from leaves(value, below)
        else:
            yield ".".join(map(str, below)), tree, key, value


def is_walked(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list)
        and any(isinstance(part, torch.Tensor) or is_walked(part) for part in value)
    )
