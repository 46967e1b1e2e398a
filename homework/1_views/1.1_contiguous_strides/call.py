def call(student, shape):
    return student(shape)
