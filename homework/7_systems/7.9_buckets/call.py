def call(student, sizes, first, cap, backwards):
    """For each gradient of each backward the buckets that were sent when it was there."""
    now = []
    reducer = student(sizes, first, cap, lambda bucket: now.append([int(i) for i in bucket]))
    found = []
    for order in backwards:
        reducer.begin()
        for i in order:
            now.clear()
            reducer.ready(i)
            found.append(list(now))
    return found
