WALK = "[place + i * stride for place in places for i in range(size)]"
MUTANTS = {
    "no offset": ("places = [offset]", "places = [0]"),
    "the offset in each dim": (WALK, WALK.replace("i * stride", "i * stride + offset")),
    "the first dim is the fastest": (
        WALK,
        "[place + i * stride for i in range(size) for place in places]",
    ),
    "one element too few": (WALK, WALK.replace("range(size)", "range(max(size - 1, 0))")),
    "a size of 0 counts as 1": (WALK, WALK.replace("range(size)", "range(max(size, 1))")),
    "steps of 1 in the last dim": (
        "places = [offset]",
        "strides = (*strides[:-1], 1) if strides else ()\n    places = [offset]",
    ),
    "a tuple in place of a list": ("return places", "return tuple(places)"),
}
