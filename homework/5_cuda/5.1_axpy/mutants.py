MUTANTS = {
    "no loop": ("for (int i = first; i < n; i += step)", "if (const int i = first; i < n)"),
    "a block's step": ("gridDim.x * blockDim.x;", "blockDim.x;"),
    "a grid's step, of blocks": ("gridDim.x * blockDim.x;", "gridDim.x;"),
    "the block is left out": ("blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.x"),
    "one element too many": ("i < n;", "i <= n;"),
    "y is replaced": ("y[i] += a", "y[i] = a"),
    "the sign": ("y[i] += a", "y[i] -= a"),
    "n is not asked": ("i < n;", "i < (n + step - 1) / step * step;"),
}
