RIGHT = "return tensor.shape[1] * field, tensor.shape[0] * field"
MUTANTS = {
    "in and out changed": (RIGHT, "return tensor.shape[0] * field, tensor.shape[1] * field"),
    "without the kernel": (RIGHT, "return tensor.shape[1], tensor.shape[0]"),
    "the kernel in fan in alone": (RIGHT, "return tensor.shape[1] * field, tensor.shape[0]"),
    "one side of the kernel": ("math.prod(tensor.shape[2:])", "math.prod(tensor.shape[2:3])"),
    "sides added": ("math.prod(tensor.shape[2:])", "sum(tensor.shape[2:]) or 1"),
    "one dim is taken": ("tensor.ndim < 2", "tensor.ndim < 1"),
    "a list": (RIGHT, "return [tensor.shape[1] * field, tensor.shape[0] * field]"),
}
