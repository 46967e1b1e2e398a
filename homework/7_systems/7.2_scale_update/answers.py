def cases(rng):
    def case(found, scale=8.0, steps=0, growth=2.0, backoff=0.5, interval=3):
        return {
            "found": [bool(x) for x in found], "scale": scale, "steps": steps, "growth": growth,
            "backoff": backoff, "interval": interval,
        }  # fmt: skip

    yield "a step without inf", case([0])
    yield "a step with inf", case([1])
    yield "enough steps without", case([0, 0, 0])
    yield "it counts anew after it has grown", case([0] * 7)
    yield "inf makes it count anew", case([0, 0, 1, 0, 0, 0])
    yield "inf again and again", case([1, 1, 1])
    yield "an interval of 1", case([0, 0, 1, 0], interval=1)
    yield "other factors", case([0, 0, 0, 1], growth=1.5, backoff=0.25)
    yield "it would become inf", case([0], scale=2.0**127, steps=2)
    yield "the largest float32 less one power", case([0, 0, 0, 0], scale=2.0**126, steps=2)
    yield "inf when it is about to grow", case([1], steps=2)
    for _ in range(3):
        yield "many", case(rng.random(60) < 0.2, interval=int(rng.integers(2, 6)))


def answer(found, scale, steps, growth, backoff, interval):
    seen = []
    for bad in found:
        steps = 0 if bad else steps + 1
        if bad:
            scale *= backoff
        elif steps == interval:
            steps = 0
            scale *= growth if scale * growth < 2.0**128 else 1
        seen.append((float(scale), steps))
    return seen


def why(got, expected, found, scale, steps, growth, backoff, interval):
    for k, (one, other) in enumerate(zip(got, expected, strict=False)):
        if one != other and found[k]:
            return f"iteration {k} finds inf: the scale shrinks, the steps are 0"
        if one != other and scale * growth >= 2.0**128:
            return f"iteration {k}: a scale of inf would make every gradient nan"
        if one != other:
            return (
                f"iteration {k}: a step without inf counts, number {interval} lets the scale grow"
            )
    return ""
