def call(student, a, x, y, blocks, threads):
    found = student(a, x, y, x.size, blocks, threads)[1]
    turns = -(-x.size // (blocks * threads))
    enough = 24 * turns
    return {"y": found, "bytes_of_a_thread": max(student.count("bytes_of_a_thread"), enough)}
