TOLERANCE = 1e-12


def asked(rng, workers, staleness, steps, speeds):
    """Events of workers that ask, compute for a while, and send; a waiting one does nothing."""
    state = ["ready"] * workers
    clocks, events = [0] * workers, []
    while len(events) < 2 * steps:
        free = [w for w in range(workers) if state[w] != "waiting"]
        weights = [speeds[w] for w in free]
        worker = free[int(rng.choice(len(free), p=[x / sum(weights) for x in weights]))]
        if state[worker] == "ready":
            events.append((worker, None))
            state[worker] = "waiting"
        else:
            events.append((worker, float(rng.integers(-4, 5)) / 4))
            clocks[worker] += 1
            state[worker] = "ready"
        for w in range(workers):
            if state[w] == "waiting" and clocks[w] <= min(clocks) + staleness:
                state[w] = "computing"
    return events


def case(rng, workers, staleness, steps, speeds=None):
    events = asked(rng, workers, staleness, steps, speeds or [1] * workers)
    return {
        "parameter": 1.0, "workers": workers, "staleness": staleness, "lr": 0.5, "events": events
    }  # fmt: skip


def cases(rng):
    yield "one worker", case(rng, 1, 0, 3)
    yield "two in step", {
        "parameter": 2.0, "workers": 2, "staleness": 0, "lr": 0.25,
        "events": [(0, None), (0, 1.0), (0, None), (1, None), (1, -2.0), (0, 3.0), (1, None)],
    }  # fmt: skip
    yield "one that is ahead waits", {
        "parameter": 0.0, "workers": 2, "staleness": 1, "lr": 1.0,
        "events": [(0, None), (0, 1.0), (0, None), (0, 2.0), (0, None), (1, None), (1, 4.0)],
    }  # fmt: skip
    yield "two wait for a third", {
        "parameter": 0.0, "workers": 3, "staleness": 0, "lr": 1.0,
        "events": [(1, None), (1, 1.0), (1, None), (0, None), (0, 2.0), (0, None), (2, None),
                   (2, 4.0)],
    }  # fmt: skip
    yield "nobody waits", case(rng, 3, 100, 12)
    yield "a slow one", case(rng, 3, 1, 20, [9, 9, 1])
    for workers, staleness in ((2, 0), (4, 2), (6, 1)):
        yield f"{workers} workers, {staleness} ahead", case(rng, workers, staleness, 30)


def answer(parameter, workers, staleness, lr, events):
    steps, queue, found = dict.fromkeys(range(workers), 0), {}, []
    for number, (worker, value) in enumerate(events):
        if value is None:
            queue[worker] = number
        else:
            parameter = parameter - lr * value
            steps[worker] += 1
        may = [w for w in queue if steps[w] <= min(steps.values()) + staleness]
        found.append([(w, parameter) for w in sorted(may, key=queue.get)])
        for w in may:
            del queue[w]
    return found


def why(got, expected, parameter, workers, staleness, lr, events):
    for number, (ours, theirs) in enumerate(zip(got, expected, strict=True)):
        if [w for w, _ in ours] != [w for w, _ in theirs]:
            return (
                f"after events {events[: number + 1]} workers {[w for w, _ in theirs]} are answered"
            )
    return "a step subtracts lr times the gradient, and an answer is the parameter of the moment"
