SHAPE = "(len(sequences), longest) if batch_first else (longest, len(sequences))"
FULL = "sequences[0].new_full((*shape, *rest), float(padding_value))"
START = '0 if padding_side == "right" else longest - sequence.size(0)'
WRITE = "row[start : start + sequence.size(0)] = sequence"
LAST = "return padded"
MUTANTS = {
    "always the batch first": ("batch_first: bool = False", "batch_first: bool = True"),
    "a reshape, not a transposition": (
        LAST,
        "return pad_sequence(sequences, True, padding_value, padding_side).reshape(padded.shape)"
        " if not batch_first else padded",
    ),
    "zeros": (FULL, FULL.replace("float(padding_value)", "0")),
    "always at the right": (START, "0"),
    "left and right changed": (START, START.replace("right", "left")),
    "counted from the end": (
        WRITE,
        'if padding_side == "left": row[-sequence.size(0):] = sequence\n        else: ' + WRITE,
    ),
    "one place too late": (START, START + " - 1 + (sequence.size(0) == longest)"),
    "the first is taken for the longest": (
        "max(s.size(0) for s in sequences)",
        "sequences[0].size(0)",
    ),
    "the last step is lost": (
        WRITE,
        "row[start : start + sequence.size(0) - 1] = sequence[:-1]",
    ),
    "no history": (WRITE, WRITE.replace("= sequence", "= sequence.detach()")),
    "a view of a single one": (
        LAST,
        "return sequences[0].unsqueeze(0 if batch_first else 1) if len(sequences) == 1 else padded",
    ),
    "no sequences are an empty tensor": ("if not sequences:", "if False:"),
}
