MEAN = 'state["exp_avg"].lerp_(grad, number(1 - beta1))'
SQUARE = "exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=number(1 - beta2))"
BELOW = '(exp_avg_sq.sqrt() / correction).add_(group["eps"])'
LAST = "param.addcdiv_(exp_avg, denominator, value=-number(step_size))"
MUTANTS = {
    "the sign": (LAST, LAST.replace("=-", "=")),
    "a new parameter": (LAST, LAST.replace("addcdiv_", "addcdiv")),
    "no correction of the mean": ("lr / (1 - beta1**step)", "lr"),
    "no correction of the square": ("(1 - beta2**step) ** 0.5", "1.0"),
    "counted from 0": ('state["step"].item()', 'state["step"].item() - 1 or 1'),
    "the correction without the root": ("(1 - beta2**step) ** 0.5", "1 - beta2**step"),
    "eps before the correction": (BELOW, '(exp_avg_sq.sqrt() + group["eps"]) / correction'),
    "eps under the root": (BELOW, '(exp_avg_sq / correction**2 + group["eps"]).sqrt()'),
    "no root": (BELOW, BELOW.replace("exp_avg_sq.sqrt()", "exp_avg_sq")),
    "the mean is not kept": (MEAN, MEAN.replace("lerp_", "lerp")),
    "beta1 and its rest changed": (MEAN, MEAN.replace("1 - beta1", "beta1")),
    "the square is not squared": (SQUARE, SQUARE.replace("grad, grad", "grad, grad.sign()")),
    "one kind of decay": (
        "decay(param, grad, group, lr)",
        'grad.add(param, alpha=group["weight_decay"])',
    ),
    "amsgrad's largest is not kept": (
        "largest.copy_(torch.maximum(largest.clone(), exp_avg_sq))",
        "torch.maximum(largest, exp_avg_sq)",
    ),
}
