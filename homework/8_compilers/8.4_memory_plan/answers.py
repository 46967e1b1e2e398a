UNIT = 64


def cases(rng):
    """Launches as `writes=reads`, `writes~reads` of an elementwise one; sizes; what is kept."""
    for name, (text, sizes, kept) in {
        "one buffer": ("0=", "64", ""),
        "no buffers": ("", "", ""),
        "two at once": ("0= 1= 2=0,1", "64 64 64", "2"),
        "one after another": ("0= =0 1= =1 2= =2", "640 640 640", ""),
        "read and written by one launch": ("0= 1=0 =1", "128 128", ""),
        "elementwise: in place": ("0= 1~0 2~1 3~2", "1024 1024 1024 1024", "3"),
        "elementwise, and read later": ("0= 1~0 2=0,1", "256 256 64", "2"),
        "elementwise, and kept": ("0= 1~0 =1", "256 256", "0"),
        "elementwise of two": ("0= 1= 2~0,1 3=2", "512 512 512 64", "3"),
        "elementwise, one of two is read later": ("0= 1= 2~0,1 3=2,0", "512 512 512 64", "3"),
        "two results, one place": ("0= 1,2~0 =1,2", "512 512 512", ""),
        "from float32 to float64": ("0= 1~0 =1", "512 1024", ""),
        "from float64 to float32": ("0= 1~0 2= =1,2", "1024 512 512", ""),
        "changed in place": ("0= 0~0 1= 0~0,1 2=0", "512 512 64", "2"),
        "sizes are rounded up": ("0= 1= 2= 3=0,1,2", "1 65 64 100", "3"),
        "nobody reads it": ("0= 1,2=0 3=1", "64 64 640 64", "3"),
        "what is kept stays": ("0= 1=0 2= 3=2 4= 5=4", "128 64 128 64 128 64", "1 3 5"),
        "a gap that is large enough": ("0= 1= 2= =1 3= =0,2,3", "64 256 64 256", ""),
        "a gap that is too small": ("0= 1= 2= =1 3= =0,2,3", "64 256 64 320", ""),
        "a small one is in the way": ("0= 1= =0 2= =1,2", "64 64 128", ""),
        "small ones are in the way": (
            "0= 1= 2= =1 3= =0 4= =2,3,4",
            "320 64 64 256 320",
            "",
        ),
        "one that lives long, among short ones": (
            "0= 1= =0 2= =2 3= =3 4= =1,4",
            "256 64 512 1024 2048",
            "",
        ),
        "a small one over a large one's rest": ("0= =0 1= 2= =1,2", "640 320 320", ""),
    }.items():
        launches, sizes, kept = parsed(text), numbers(sizes), numbers(kept)
        yield name, bounded(launches, sizes, kept, 1.1)
    yield "a training step of an MLP", bounded(parsed(MLP[0]), *map(numbers, MLP[1:]), 1.1)
    yield "a training step of a GPT", bounded(parsed(GPT[0]), *map(numbers, GPT[1:]), 1.1)
    for count in (6, 12, 24, 48):
        yield "any", bounded(*drawn(rng, count), 1.6)


def numbers(text):
    return [int(word) for word in text.split()]


def parsed(text):
    launches = []
    for launch in text.split():
        writes, reads = launch.replace("~", "=").split("=")
        names = [tuple(int(x) for x in names.split(",") if x) for names in (reads, writes)]
        launches.append(("~" in launch, *names))
    return launches


def bounded(launches, sizes, kept, factor):
    most = int(factor * least(launches, sizes, kept))
    return {"launches": launches, "sizes": sizes, "kept": kept, "most": most}


def rounded(size):
    return -(-size // UNIT) * UNIT


def least(launches, sizes, kept):
    """The most that lives at once, less what may be written over what is read: no plan has less."""
    most = 0
    for t, (elementwise, reads, writes) in enumerate(launches):
        uses = [{*reads, *writes} for _, reads, writes in launches]
        before, behind = set().union(*uses[:t]), set(kept).union(*uses[t + 1 :])
        alive = (before & behind) | uses[t]
        total = sum(rounded(sizes[buffer]) for buffer in alive)
        old = [sizes[buffer] for buffer in reads if buffer not in behind]
        for new in set(writes) - before if elementwise else ():
            if sizes[new] in old:
                old.remove(sizes[new])
                total -= rounded(sizes[new])
        most = max(most, total)
    return most


def drawn(rng, count):
    launches, sizes, alive = [], [], []
    for _ in range(count):
        elementwise = bool(alive) and rng.random() < 0.4
        reads = [int(x) for x in rng.permutation(alive)[: int(rng.integers(1, 3))]]
        results = [len(sizes)] if rng.random() < 0.8 else [len(sizes), len(sizes) + 1]
        for _ in results:
            sizes.append(sizes[reads[0]] if elementwise else int(rng.integers(1, 40)) * 50)
        launches.append((elementwise, tuple(reads), tuple(results)))
        alive = [x for x in alive if rng.random() < 0.75] + results
    return launches, sizes, [int(x) for x in rng.choice(len(sizes), 2, replace=False)]


def answer(launches, sizes, kept, most):
    return {"misplaced": [], "damaged": [], "bytes above the bound": 0}


def why(got, expected, launches, sizes, kept, most):
    if got["misplaced"]:
        return f"an offset is a multiple of {UNIT}, from 0 on: {got['misplaced']} have others"
    if got["damaged"]:
        old, new = got["damaged"][0]
        t = next(t for t, (_, _, writes) in enumerate(launches) if new in writes)
        elementwise, _, writes = launches[t]
        where = f"launch {t} writes buffer {new} over {old}, "
        later = [u for u, launch in enumerate(launches) if u > t and old in launch[1] + launch[2]]
        if old in writes:
            return where + "which is its result, too"
        if old in kept:
            return where + "which is kept to the end"
        if later:
            return where + f"which launch {later[0]} uses"
        if not elementwise:
            return where + "which it reads: only an elementwise launch may write where it reads"
        return where + "which it reads: in place is from the same offset on, of the same size, once"
    naive = sum(rounded(size) for size in sizes)
    return (
        f"the memory has {most + got['bytes above the bound']} bytes, {most} are enough; what "
        f"lives at once has {least(launches, sizes, kept)}, all buffers {naive}"
    )


# Recorded by tiny_torch.program.plan, without chains, of cross-entropy and its gradients: an MLP
# 20-32-32-5 with ReLU, batch 8; and a GPT of two layers of width 32, with two heads and plain
# attention, on 4 texts of 16 tokens. With the kernels' scratch memory; gradients are kept.
MLP = (
    """
    0,1= 2~0 3,4=2 5~3 6,7=5 8,9=6 10=9,8 11= 12=6,8,11 13,14=12 15=12 16,17=12,5 18~13,5
    19,20=18 21=18 22,23=18,2 24~19,2 25=24 26,27=24
    """,
    """
    1024 8320 1024 1024 8320 1024 160 4224 100 32 4 4 160 1024 3200 20 640 2688 1024 1024 6272
    128 4096 5248 1024 128 2560 5248
    """,
    """
    15 16 21 22 25 26
    """,
)
GPT = (
    """
    0= 1,2=0 3,4=1 5,6=3 7~5 8~7 9=8 10,11=9,3 12=10 13,14=12 15~0,13 16,17=15 18,19=16 20~18
    21,22=20 23~15,21 24,25=23 26,27=24 28,29=26 30~28 31~30 32=31 33,34=32,26 35=33 36,37=35
    38~23,36 39,40=38 41,42=39 43~41 44,45=43 46~38,44 47,48=46 49,50=47 51,52=49 53=52,51 54=
    55=49,51,54 56,57=55 58=55 59,60=55,47 61,63,64,62=56,46,48 65,66=61 67=61 68,69=61,43
    70~65,41 71,72=70 73=70 74,75=70,39 76,78,79,77=71,38,40 ~61,76 80,81=61 82=61 83,84=61,35
    85,86=80,26 87,88=32,80 89=85,32 90~89 91,92=90,26 93,94=26,90 95=87 96=91 97=96 =97,93
    =97,95 98,99=97 100=97 101,102=97,24 103,105,106,104=98,23,25 ~61,103 107,108=61 109=61
    110,111=61,20 112~107,18 113,114=112 115=112 116,117=112,16 118,120,121,119=113,15,17
    ~61,118 122,123=61 124=61 125,126=61,12 127,128=122,3 129,130=9,122 131=127,9 132~131
    133,134=132,3 135,136=3,132 137=129 138=133 139=138 =139,135 =139,137 140,141=139 142=139
    143,144=139,1 145,147,148,146=140,0,2 ~61,145 149=61
    """,
    """
    8192 8192 768 24576 23680 8192 2688 8192 8192 8192 8192 2688 8192 8192 15488 8192 8192 768
    32768 27776 32768 8192 53120 8192 8192 768 24576 23680 8192 2688 8192 8192 8192 8192 2688
    8192 8192 15488 8192 8192 768 32768 27776 32768 8192 53120 8192 8192 768 10240 17536 772
    256 4 4 10240 8192 20352 160 5120 20864 8192 2048 128 128 32768 27776 128 16384 43648
    32768 8192 53120 512 16384 47744 8192 2048 128 128 8192 15488 128 4096 19072 8192 2688
    8192 2688 8192 8192 8192 2688 8192 2688 8192 8192 24576 8192 40576 384 12288 36992 8192
    2048 128 128 32768 27776 128 16384 43648 32768 8192 53120 512 16384 47744 8192 2048 128
    128 8192 15488 128 4096 19072 8192 2688 8192 2688 8192 8192 8192 2688 8192 2688 8192 8192
    24576 8192 40576 384 12288 36992 8192 2048 128 128 5120
    """,
    """
    58 59 63 64 67 68 73 74 78 79 82 83 100 101 105 106 109 110 115 116 120 121 124 125 142
    143 147 148 149
    """,
)
