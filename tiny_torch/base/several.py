"""Several scopes as one."""

from __future__ import annotations

from tiny_torch.base.modes import Scope


class Several(Scope):
    """Scopes as one, each within those before it."""

    def __init__(self, *scopes: Scope) -> None:
        self.scopes = scopes

    def current(self) -> list:
        return [scope.current() for scope in self.scopes]

    def begin(self) -> None:
        for scope in self.scopes:
            scope.begin()

    def restore(self, before: list) -> None:
        for scope, value in zip(reversed(self.scopes), reversed(before), strict=True):
            scope.restore(value)
