def case(sizes, first, cap, *orders):
    last_first = list(reversed(range(len(sizes))))
    return {"sizes": sizes, "first": first, "cap": cap, "backwards": list(orders) or [last_first]}


def cases(rng):
    yield "one parameter", case([4], 10, 10)
    yield "all fit", case([1, 2, 3], 10, 10)
    yield "two buckets", case([2, 2, 2, 2], 4, 4)
    yield "to the brim", case([3, 3, 2, 1], 3, 6)
    yield "the first bucket is small", case([5, 5, 5, 5, 5], 5, 20)
    yield "one that is larger than a bucket", case([1, 50, 1, 1], 2, 4)
    yield "the last one is larger", case([1, 1, 50], 2, 4)
    yield "out of order", case([2, 2, 2, 2], 2, 4, [0, 1, 2, 3])
    yield "two backwards", case([2, 2, 2, 2], 2, 4, [3, 1, 2, 0], [0, 3, 2, 1])
    for count in (6, 12, 25):
        sizes = [int(n) for n in rng.integers(1, 20, count)]
        orders = [[int(i) for i in rng.permutation(count)] for _ in range(2)]
        yield f"{count} parameters", case(sizes, 12, 40, *orders)


def buckets_of(sizes, first, cap):
    rows = []
    for i in range(len(sizes) - 1, -1, -1):
        limit = first if len(rows) == 1 else cap
        if rows and sum(sizes[j] for j in rows[-1]) + sizes[i] <= limit:
            rows[-1].append(i)
        else:
            rows.append([i])
    return rows


def answer(sizes, first, cap, backwards):
    rows, found = buckets_of(sizes, first, cap), []
    for order in backwards:
        told, sent = set(), 0
        for i in order:
            told.add(i)
            now = []
            while sent < len(rows) and told.issuperset(rows[sent]):
                now.append(rows[sent])
                sent += 1
            found.append(now)
    return found


def why(got, expected, sizes, first, cap, backwards):
    rows = buckets_of(sizes, first, cap)
    seen = [bucket for now in got for bucket in now]
    if any(bucket not in rows for bucket in seen):
        return f"parameters of sizes {sizes} are in the buckets {rows}: first {first}, then {cap}"
    if len(seen) != len(rows) * len(backwards):
        return "each bucket is sent once in each backward"
    return "a bucket is sent when it is complete and all before it have been sent, and at once"
