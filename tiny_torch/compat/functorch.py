"""What `import functorch` answers with under the runner: `torch.func`, and older names refused."""

from tiny_torch.compat.refused import refusing, refusing_class
from tiny_torch.func import *  # noqa: F403

CALLS = "torch.func.functional_call calls a module with other parameters"
FunctionalModule = refusing_class("functorch.FunctionalModule", CALLS)
FunctionalModuleWithBuffers = refusing_class("functorch.FunctionalModuleWithBuffers", CALLS)
make_functional = refusing("functorch.make_functional", CALLS)
make_functional_with_buffers = refusing("functorch.make_functional_with_buffers", CALLS)
