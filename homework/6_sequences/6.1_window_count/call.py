def call(student, size, windows):
    return student(size, windows)
