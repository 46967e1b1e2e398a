SQUARES = "squares += (x[i] - middle) * (x[i] - middle)"
MUTANTS = {
    "one pass: the mean of squares less the mean's square": (
        SQUARES,
        "squares += T(x[i] * x[i]) - T(T(middle) * T(middle))",
    ),
    "squares of x itself": (SQUARES, "squares += x[i] * x[i]"),
    "size - 1": ("squares / size + eps", "squares / (size - 1) + eps"),
    "eps outside of the root": (
        "1 / std::sqrt(squares / size + eps)",
        "1 / (std::sqrt(squares / size) + eps)",
    ),
    "no eps": ("squares / size + eps", "squares / size"),
    "bias before weight": (
        "(weight ? weight[i] : 1);",
        "1;\n"
        "      if (weight) {\n"
        "        y[i] = static_cast<T>((value + (bias ? bias[i] : 0)) * weight[i]);\n"
        "        continue;\n"
        "      }",
    ),
    "a weight per row": ("weight ? weight[i] : 1", "weight ? weight[r % size] : 1"),
    "the variance in place of its root": (
        "scale[r] = static_cast<T>(factor)",
        "scale[r] = static_cast<T>(squares / size)",
    ),
    "no mean is kept": ("mean[r] = static_cast<T>(middle)", "mean[r] = 0"),
}
