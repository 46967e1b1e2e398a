def call(student, expression):
    return student(expression)
