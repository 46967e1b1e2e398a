def call(student, stage, stages, microbatches):
    return [tuple(action) for action in student(stage, stages, microbatches)]
