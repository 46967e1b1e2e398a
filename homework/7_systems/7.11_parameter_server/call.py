def call(student, parameter, workers, staleness, lr, events):
    """What is answered at each event; each event is (worker, None) or (worker, gradient)."""
    server = student(parameter, workers, staleness, lr)
    found = []
    for worker, value in events:
        told = server.ask(worker) if value is None else server.gradient(worker, value)
        found.append([(int(w), float(p)) for w, p in told])
    return found
