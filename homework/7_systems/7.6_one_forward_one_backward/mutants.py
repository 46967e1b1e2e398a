AHEAD = "ahead = min(microbatches, stages - stage)"
MUTANTS = {
    "one too few ahead": (AHEAD, AHEAD.replace("stages - stage", "max(stages - stage - 1, 1)")),
    "one too many ahead": (AHEAD, AHEAD.replace("stages - stage", "stages - stage + 1")),
    "ahead as if it were the first stage": (AHEAD, AHEAD.replace("stages - stage", "stages")),
    "ahead by the stage's number": (AHEAD, AHEAD.replace("stages - stage", "stage + 1")),
    "all forwards first": (AHEAD, "ahead = microbatches"),
    "no end of forwards": (AHEAD, "ahead = stages - stage"),
    "the last forward is left out": (
        "if ahead + i < microbatches:",
        "if ahead + i < microbatches - 1:",
    ),
    "a forward of the wrong number": (
        'Action("F", stage, ahead + i))',
        'Action("F", stage, i))',
    ),
    "no stage": ('Action("B", stage, i)', 'Action("B", 0, i)'),
}
