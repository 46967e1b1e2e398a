def call(student, nodes, outputs):
    return student(nodes, outputs)
