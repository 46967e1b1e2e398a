def call(student, buffers):
    return student(buffers)
