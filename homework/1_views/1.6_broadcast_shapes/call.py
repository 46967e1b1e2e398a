def call(student, a, b):
    return student(a, b)
