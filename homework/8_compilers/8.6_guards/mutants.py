FLAGS = "flags = value.shape, value.dtype, value.requires_grad"
FLOAT = 'return "float", repr(value)'
KIND = "kind = kind_of(args), kind_of(names, named=True)"
MUTANTS = {
    "the arguments do not matter": (KIND, "kind = 0, kind_of(names, named=True)"),
    "the names do not matter": (
        "if kind in self.programs:\n            return self.programs[kind](*args)",
        "for known, program in self.programs.items():\n            if known[0] == kind[0]:\n"
        "                return program(*args)",
    ),
    "always recorded": ("if kind in self.programs:", "if False:"),
    "only the last recording holds": (
        "            self.programs[kind] = program\n",
        "            self.programs = {kind: program}\n",
    ),
    "one recording too many": (">= self.most", "> self.most"),
    "shapes do not matter": (FLAGS, FLAGS.replace("value.shape", "len(value.shape)")),
    "as many elements": (FLAGS, FLAGS.replace("value.shape", "tuple(sorted(value.shape))")),
    "dtypes do not matter": (FLAGS, FLAGS.replace("value.dtype, ", "")),
    "flags do not matter": (FLAGS, FLAGS.replace("value.requires_grad", "None")),
    "arguments have to be the same arrays": ("if named else flags", "if True else flags"),
    "named arrays may be others of the kind": ("(*flags, id(value)) if named else flags", "flags"),
    "a named array's flag does not matter": ("(*flags, id(value))", "(0, id(value))"),
    "values by ==": ("return type(value), value", "return value"),
    "floats by ==": (FLOAT, 'return "float", value'),
    "lists are compared with themselves": (
        "return type(value), tuple([kind_of(item, named) for item in value])",
        'return "list", id(value)',
    ),
    "a list is a tuple": ("return type(value), tuple(", "return tuple("),
    "dicts by their names alone": (
        "items = [(kind_of(key), kind_of(item, named))",
        "items = [(kind_of(key), kind_of(key))",
    ),
    "dicts are compared with themselves": (
        'return "dict", tuple(items)',
        'return "dict", id(value)',
    ),
    "ids of what is gone": ("            self.alive.append(list(names.values()))\n", ""),
    "changes of what it reads go unseen": (
        "if kind_of(self.names(), named=True) == kind[1]:",
        "if True:",
    ),
    "it is asked too late": (
        "        answer, program = self.record(*args)\n",
        "        answer, program = self.record(*args)\n"
        "        kind = kind[0], kind_of(self.names(), named=True)\n",
    ),
    "a refused one is recorded again": ("            self.refused = True\n", "            pass\n"),
    "a refused one's programs stay": (
        "        if self.refused:\n            return self.function(*args)\n        names",
        "        names",
    ),
}
