import numpy as np


def call(student, param, grads, lr, betas, eps, weight_decay):
    average, square, seen = np.zeros_like(param), np.zeros_like(param), []
    for t, grad in enumerate(grads, 1):
        step_size, root = lr / (1 - betas[0] ** t), (1 - betas[1] ** t) ** 0.5
        numbers = lr, *betas, eps, weight_decay, step_size, root
        arrays = param, grad, average, square
        param, grad, average, square = student(
            "adamw_entry", *arrays, param.size, *map(float, numbers)
        )
        seen.append(grad)
    return {"average": average, "square": square, "param": param, "grads": seen}
