STEP = "parameters[mine] -= lr * mean / (square**0.5 + 1e-8)"
MUTANTS = {
    "the sum for the mean": ("reduce_scatter(gradient) / ranks", "reduce_scatter(gradient)"),
    "its own gradient": ("reduce_scatter(gradient) / ranks", "gradient[mine]"),
    "the first rank's part": ("slice(rank * size, (rank + 1) * size)", "slice(0, size)"),
    "nothing is gathered": ("    parameters[:] = all_gather(parameters[mine])\n", ""),
    "the moments are not kept": ("first[:] = ", "first = "),
    "no correction": ("first / (1 - 0.9**step), second", "first, second"),
    "one correction for both": ("second / (1 - 0.999**step)", "second / (1 - 0.9**step)"),
    "no root": ("square**0.5", "square"),
    "another array": ("parameters[:] = all_gather", "parameters = all_gather"),
    "up": (STEP, STEP.replace("-=", "+=")),
}
