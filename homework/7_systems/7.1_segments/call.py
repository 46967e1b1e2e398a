def call(student, segments, count):
    return [tuple(segment) for segment in student(segments, count)]
