import numpy as np

FUNCTIONS = {
    "[x * x]": lambda x: [x * x],
    "[x ** 3]": lambda x: [x**3],
    "[exp(x)]": lambda x: [np.exp(x)],
    "[x[:1] * x[1:]]": lambda x: [x[:1] * x[1:]],
    "[sin(x), x.sum()]": lambda x: [np.sin(x), x.sum(keepdims=True)],
    "[]": lambda x: [],
}


def call(student, function, x, direction, eps):
    points = []

    def watched(point):
        points.append(np.array(point))
        return FUNCTIONS[function](points[-1])

    answer = student(watched, x, direction, eps)
    return {"derivatives": answer, "calls": len(points), "x": x, "direction": direction}
