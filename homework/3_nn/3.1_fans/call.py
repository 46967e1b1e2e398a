from tiny_torch import zeros


def call(student, shape):
    return student(zeros(shape))
