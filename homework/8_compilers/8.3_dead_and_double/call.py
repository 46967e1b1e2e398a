def call(student, launches, held):
    return student(launches, held)
