MUTANTS = {
    "uphill": ("param[i] - step * average[i]", "param[i] + step * average[i]"),
    "the gradient is not averaged": ("step * average[i] / denominator", "step * g / denominator"),
    "averages are not kept": (
        "average[i] += share1 * (g - average[i]);",
        "average[i] = share1 * g;",
    ),
    "the gradient is not squared": ("share2 * g * g", "share2 * g"),
    "1 - beta2 of floats": ("static_cast<float>(1 - beta2)", "1 - static_cast<float>(beta2)"),
    "eps inside the root": (
        "std::sqrt(square[i]) / over + least",
        "std::sqrt(square[i] + least) / over",
    ),
    "eps is divided, too": (
        "std::sqrt(square[i]) / over + least",
        "(std::sqrt(square[i]) + least) / over",
    ),
    "no correction of the square's bias": ("std::sqrt(square[i]) / over", "std::sqrt(square[i])"),
    "the weight decay goes through the averages": (
        "const float g = grad[i];",
        "const float g = grad[i] + weight_decay * param[i];",
    ),
    "no weight decay": ("static_cast<float>(1 - lr * weight_decay)", "1.0f"),
    "the weight decay without lr": ("1 - lr * weight_decay", "1 - weight_decay"),
    "the last element is left out": ("i < size; ++i", "i + 1 < size; ++i"),
}
