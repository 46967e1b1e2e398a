"""Samples of torch.profiler and torch.autograd.profiler: what does not depend on the time taken."""

# ruff: noqa: E501 -- a sample is one string

from sweeps.sweep_cases import of

IMPORT = "import json, os, tempfile\n"
WORK = "torch.mm(m, n).exp()"
SEEN = "('aten::mm', 'aten::exp', 'mine', 'ExpBackward0', 'MmBackward0')"
OPTIONS = (
    "",
    "record_shapes=True",
    "with_flops=True",
    "profile_memory=True",
    "with_stack=True",
    "with_modules=True",
    "acc_events=True",
    "record_shapes=True, with_flops=True, profile_memory=True",
)
WRONG = ("3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20", "nothing=3")


def recorded(name, options="", work=WORK):
    """A block of a profile as P, which `torch.<name>` makes."""
    return f"with torch.{name}({options}) as P:\n    {work}\n"


COUNTS = "Q = [e.name for e in P.{} if e.name in " + SEEN + "]\nsorted(set(Q))"
for name, events in {"profiler.profile": "events()", "autograd.profiler.profile": "function_events"}.items():  # fmt: skip
    of(
        name,
        *[recorded(name, options) + COUNTS.format(events) for options in OPTIONS],
        *[f"torch.{name}({options})" for options in WRONG],
        recorded(name, work="y.exp()") + COUNTS.format(events),
        recorded(name, work="torch.mm(m, n).exp().sum().backward()") + COUNTS.format(events),
    )
KEY = "Q = [[e.key, e.count, e.input_shapes, e.flops] for e in {} if e.key in ('aten::mm', 'aten::exp')]\nsorted(Q)"
READS = {
    "key_averages": KEY.format("P.key_averages()"),
    "table": "Q = P.{}table({})\n[line in Q for line in ('aten::mm', 'aten::exp', '# of Calls', 'Input Shapes', 'CPU Mem')]",
    "total_average": "Q = P.{}total_average()\n[type(Q).__name__, Q.count > 0, Q.key]",
    "self_cpu_time_total": "P.{}self_cpu_time_total >= 0",
}
for kind in ("profiler.profile", "autograd.profiler.profile"):
    made = [recorded(kind, options) for options in OPTIONS]
    of(
        f"{kind}.key_averages",
        *[before + READS["key_averages"] for before in made],
        recorded(kind, "record_shapes=True") + KEY.format("P.key_averages(group_by_input_shape=True)"),
        recorded(kind, "with_stack=True") + KEY.format("P.key_averages(group_by_stack_n=1)"),
        f"torch.{kind}().key_averages()",
        made[0] + "P.key_averages(nothing=1)",
    )  # fmt: skip
PROFILE = "autograd.profiler.profile"
MADE = [recorded(PROFILE, options) for options in OPTIONS]
for place, owner in ((PROFILE, ""), ("autograd.profiler.EventList", "function_events.")):
    of(
        f"{place}.table",
        *[before + READS["table"].format(owner, "") for before in MADE],
        *[
            MADE[1] + READS["table"].format(owner, options)
            for options in ("sort_by='cpu_time_total'", "row_limit=1", "header='title'", "None, 5, top_level_events_only=True")
        ],
        MADE[0] + f"P.{owner}table(sort_by='nothing')",
    )  # fmt: skip
    for last in ("total_average", "self_cpu_time_total"):
        of(f"{place}.{last}", *[before + READS[last].format(owner) for before in MADE])
        of(f"{place}.{last}", *[recorded(PROFILE, work=w) + READS[last].format(owner) for w in ("y.exp()", "y + y", "m.sum()")])  # fmt: skip
    of(
        f"{place}.export_chrome_trace",
        *[
            IMPORT + before + f"F_ = tempfile.mktemp()\nP.{owner}export_chrome_trace(F_)\nQ = json.load(open(F_))\nQ = Q['traceEvents'] if isinstance(Q, dict) else Q\n['aten::mm' in [e['name'] for e in Q], 'aten::exp' in [e['name'] for e in Q]]"
            for before in MADE
        ],
        MADE[0] + f"P.{owner}export_chrome_trace(3.5)",
        MADE[0] + f"P.{owner}export_chrome_trace()",
    )  # fmt: skip
of("autograd.profiler.EventList.key_averages", *[b + KEY.format("P.function_events.key_averages()") for b in MADE], MADE[1] + KEY.format("P.function_events.key_averages(True)"), MADE[0] + "P.function_events.key_averages(nothing=1)")  # fmt: skip
of("autograd.profiler.EventList.supported_export_stacks_metrics", *[b + "P.function_events.supported_export_stacks_metrics()" for b in MADE], MADE[0] + "P.function_events.supported_export_stacks_metrics", MADE[0] + "P.function_events.supported_export_stacks_metrics(3)")  # fmt: skip
of("autograd.profiler.profile.function_events", *[b + COUNTS.format("function_events") for b in MADE], "torch.autograd.profiler.profile().function_events", recorded(PROFILE, work="y.exp()") + "type(P.function_events).__name__")  # fmt: skip
for place, owner in ((PROFILE, ""), ("autograd.profiler.EventList", "function_events."), ("profiler.profile", "")):  # fmt: skip
    kind = PROFILE if place != "profiler.profile" else place
    of(
        f"{place}.export_stacks",
        *[recorded(kind, o) + f"P.{owner}export_stacks('/nowhere/at/all', {m})" for o in ("", "with_stack=True") for m in ("'cpu_time'", "'nothing'", "3", "")],
        recorded(kind, "with_stack=True") + f"P.{owner}export_stacks()",
        recorded(kind, "with_stack=True") + f"P.{owner}export_stacks(nothing=3)",
        IMPORT + "P = torch.autograd.profiler.profile(with_stack=True)\nP.export_stacks(tempfile.mktemp(), 'self_cpu_time_total')",
    )  # fmt: skip
EVENT = "Q = [e for e in P.function_events if e.name == 'aten::exp'][0]\n"
of("autograd.profiler.FunctionEvent", *[MADE[1] + EVENT + f"Q.{name}" for name in ("name", "key", "count", "input_shapes", "is_async", "flops", "is_legacy", "id >= 0", "thread >= 0", "cpu_time_total >= 0")])  # fmt: skip
of("autograd.profiler.EventList", *[b + "[type(P.function_events).__name__, len(P.function_events) > 1, 'aten::exp' in str(P.function_events)]" for b in MADE], MADE[0] + "P.function_events[0] is list(P.function_events)[0]", MADE[0] + "isinstance(P.function_events, list)")  # fmt: skip
BLOCK = "with torch.NAME({}):\n    R = torch.mm(m, n).exp()\n"
of(
    "profiler.record_function autograd.profiler.record_function",
    *[BLOCK.format(a) + "R" for a in ("'mine'", "'mine', 'more'", "name='mine'", "3", "None", "")],
    "@torch.NAME('mine')\ndef f(a):\n    return a.exp()\n[f(x), f.__name__]",
    *["with torch." + kind + "() as P:\n    with torch.NAME('mine'):\n        y.exp()\nQ = [e.name for e in P." + events + " if e.name in ('mine', 'aten::exp')]\nQ" for kind, events in (("profiler.profile", "events()"), (PROFILE, "function_events"))],
    "torch.NAME('mine').name",
    "torch.NAME('a', 3, 4)",
    "with torch.autograd.profiler.profile() as P:\n    with torch.NAME('mine'):\n        raise ValueError('text')",
)  # fmt: skip
SCHEDULED = (
    "wait=1, warmup=1, active=2", "wait=0, warmup=0, active=1", "wait=1, warmup=1, active=1, repeat=1", "wait=2, warmup=0, active=3, repeat=2, skip_first=4",
    "wait=1, warmup=1, active=1, skip_first=1, skip_first_wait=1", "wait=-1, warmup=1, active=1", "wait=1, warmup=1, active=0", "wait=1, warmup=-1, active=2", "wait=1", "", "1, 2, 3",
)  # fmt: skip
of(
    "profiler.schedule",
    *[
        f"Q = torch.profiler.schedule({a})\n[str(Q(i)) for i in range(20)]"
        for a in SCHEDULED
    ],
    "torch.profiler.schedule(wait=1, warmup=1, active=1)(-1)",
)  # fmt: skip
for name, members in {"ProfilerAction": "NONE WARMUP RECORD RECORD_AND_SAVE", "ProfilerActivity": "CPU CUDA"}.items():  # fmt: skip
    of(
        f"profiler.{name}",
        *[f"Q = torch.NAME.{member}\n[Q.name, Q.value, Q == torch.NAME.{member}]" for member in members.split()],
        *[f"torch.NAME.{member} == torch.NAME.{members.split()[0]}" for member in members.split()],
        "torch.NAME.NOTHING",
        "torch.NAME(0).name",
        "torch.NAME(0) == torch.NAME(0)",
        "torch.NAME.__name__",
        "hash(torch.NAME(0)) == hash(torch.NAME(0))",
        "torch.NAME(0) == 'text'",
    )  # fmt: skip
of("profiler.DeviceType", *[f"torch.NAME.{member}.name" for member in ("CPU", "CUDA", "NOTHING")], *[f"torch.NAME.CPU == {other}" for other in ("torch.NAME.CUDA", "torch.NAME.CPU", "'text'", "None")], "torch.NAME.__name__", "torch.NAME.CPU == torch.NAME.CPU", "hash(torch.NAME.CPU) == hash(torch.NAME.CPU)")  # fmt: skip
for name in ("kineto_available", "supported_activities"):
    read = (
        "torch.NAME()"
        if name == "kineto_available"
        else "torch.profiler.ProfilerActivity.CPU in torch.NAME()"
    )
    of(f"profiler.{name}", *[f"{before}{read}" for before in ("", "x\n", "P = torch.profiler.profile()\n", "y.exp()\n", *MADE[:4])], "torch.NAME(3)", "torch.NAME(a=3)")  # fmt: skip
of(
    "profiler.tensorboard_trace_handler",
    *[
        IMPORT + f"D = tempfile.mkdtemp()\nwith torch.profiler.profile(on_trace_ready=torch.NAME(D{rest})):\n    y.exp()\nsorted(f[-14:].lstrip('0123456789.') if not {gz} else f[-3:] for f in os.listdir(D))"
        for rest, gz in (("", False), (", 'me'", False), (", worker_name='me'", False), (", use_gzip=True", True), (", 'me', True", True))
    ],
    "torch.NAME()",
    "torch.NAME('a', 'b', False, 4)",
    *[IMPORT + f"D = tempfile.mkdtemp()\nwith torch.profiler.profile(schedule=torch.profiler.schedule(wait=0, warmup=0, active=1, repeat={n}), on_trace_ready=torch.NAME(D)) as P:\n    for _ in range(4):\n        y.exp()\n        P.step()\nlen(os.listdir(D))" for n in (1, 2, 3)],
)  # fmt: skip
OPENED = "P = torch.profiler.profile({})\n"
CYCLE = "schedule=torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=1)"
STEPS = "with torch.profiler.profile({}) as P:\n    for _ in range({}):\n        y.exp()\n        P.{}\n"
for name, calls in {
    "start": ("P.start()\nP.stop()", "P.start()\ny.exp()\nP.stop()\n'aten::exp' in [e.name for e in P.events()]", "P.start(3)"),
    "stop": ("P.start()\nP.stop()", "P.stop(3)", "P.start()\nP.step()\nP.stop()"),
    "start_trace": ("P.prepare_trace()\nP.start_trace()\nP.stop_trace()", "P.prepare_trace()\nP.start_trace()\ny.exp()\nP.stop_trace()\n'aten::exp' in [e.name for e in P.events()]", "P.start_trace(3)"),
    "stop_trace": ("P.prepare_trace()\nP.start_trace()\nP.stop_trace()\nlen(P.events()) >= 0", "P.stop_trace(3)", "P.start()\nP.stop()"),
    "prepare_trace": ("P.prepare_trace()", "P.prepare_trace(3)", "P.prepare_trace()\nP.start_trace()\nP.stop_trace()"),
    "step": ("P.start()\nP.step()\nP.step()\nP.stop()\nP.step_num", "P.step()\nP.step_num", "P.step(3)"),
    "events": ("P.events()", "P.start()\ny.exp()\nP.stop()\n'aten::exp' in [e.name for e in P.events()]", "P.events(3)"),
    "get_trace_id": ("P.start()\nP.stop()\ntype(P.get_trace_id()).__name__", "P.get_trace_id()", "P.get_trace_id(3)"),
    "set_custom_trace_id_callback": ("P.set_custom_trace_id_callback(lambda: 'mine')\nP.start()\nP.stop()\nP.get_trace_id()", "P.set_custom_trace_id_callback()", "P.set_custom_trace_id_callback(None)"),
    "add_metadata": ("P.start()\nP.add_metadata('a', 'b')\nP.stop()", "P.add_metadata('a')", "P.add_metadata('a', 'b', 'c')"),
    "add_metadata_json": ("P.start()\nP.add_metadata_json('a', '[1, 2]')\nP.stop()", "P.add_metadata_json('a')", "P.add_metadata_json('a', '3', 4)"),
    "preset_metadata_json": ("P.preset_metadata_json('a', '[1]')\nP.start()\nP.stop()", "P.preset_metadata_json('a')", "P.preset_metadata_json('a', '3', 4)"),
    "export_chrome_trace": (IMPORT + "P.start()\ny.exp()\nP.stop()\nF_ = tempfile.mktemp()\nP.export_chrome_trace(F_)\n'aten::exp' in open(F_).read()", "P.export_chrome_trace()", "P.export_chrome_trace('a')"),
}.items():  # fmt: skip
    of(
        f"profiler.profile.{name}",
        *[OPENED.format(options) + call for options in ("", "record_shapes=True", CYCLE, "with_stack=True") for call in calls],
    )  # fmt: skip
