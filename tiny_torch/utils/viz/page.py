"""A drawing as one HTML page (page.html), with the steps of a small graph's backward."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tiny_torch.tensor import Tensor
from tiny_torch.utils.pages import document, script_json
from tiny_torch.utils.sizes import size_text
from tiny_torch.utils.viz.facts import Facts, Leaf, Operation, Source, count_text
from tiny_torch.utils.viz.outline import UNFOLDED, Group, Repeat
from tiny_torch.utils.viz.text import shared_lines
from tiny_torch.utils.viz.walking import Step

SCRIPT = Path(__file__).with_name("steps.js")
LINES = 4000  # of ops, and LEAVES of leaves: a page has at most 2 MB
LEAVES = 1000
FEW = 20  # leaves that are seen without a click
STYLE = """
.tree { margin: 8px 0; }
.op, summary, .repeat { padding: 2px 6px; border-radius: 4px; overflow-wrap: anywhere; }
.op { display: grid; grid-template-columns: 38px minmax(0, 1fr); }
.op > div { display: flex; flex-wrap: wrap; gap: 0 10px; align-items: baseline; }
.op > a { color: var(--dim); text-decoration: none; font-variant-numeric: tabular-nums; }
.op code { font-weight: 600; }
.op:target, .op.now, .leaf.now { background: var(--bar); }
.repeat { color: var(--dim); padding-left: 44px; }
details > div { margin-left: 9px; padding-left: 9px; border-left: 1px solid var(--line); }
summary { cursor: pointer; }
#both { display: grid; gap: 0 24px; grid-template-columns: minmax(0, 1fr); }
#steps { order: -1; }
#at { font-weight: 600; margin: 8px 0; }
#values > div { background: var(--card); border-radius: 8px; padding: 6px 12px; margin: 8px 0; }
#values h3 { margin: 2px 0; }
#values p { margin: 6px 0 0; overflow-wrap: anywhere; }
td { white-space: nowrap; }
pre { margin: 0; overflow-x: auto; font: 13px/1.35 ui-monospace, monospace; }
@media (min-width: 900px) {
  #both { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); }
  #steps { order: 0; position: sticky; top: 0; align-self: start; max-height: 100vh;
    overflow-y: auto; } }
"""


def page(facts: Facts, root: Group, steps: list[Step], no_steps: str, nothing: list[str]) -> str:
    """The page's text."""
    if nothing:
        return document(facts.title, STYLE, "".join(f"<p>{html.escape(s)}</p>" for s in nothing))
    counts, *saved = facts.summary()
    parts = [f"<h1>{html.escape(counts)}</h1>"]
    parts += [f'<p class="dim">{html.escape(line)}</p>' for line in saved]
    for drawn in facts.roots:
        text = f"{drawn.name} {drawn.kind} = {facts.text_of(drawn.source)}"
        parts.append(f"<p><code>{html.escape(text)}</code></p>")
    if facts.unreached:
        parts.append(f"<p>{html.escape(facts.remarks()[-1])}</p>")
    main = ["<div><h2>Ops, in the order of forward</h2>"]
    if not steps:
        main.append(f'<p class="dim">No steps: {html.escape(no_steps)}.</p>')
    main += ['<div class="tree">', *tree(facts, root), "</div>", *leaves(facts), "</div>"]
    parts += ['<div id="both">', *main, *stepper(), "</div>"] if steps else main
    lines = shared_lines(facts, root)
    if lines:
        parts.append("<h2>Saved more than once</h2>")
        parts += [f"<p>{html.escape(line)}</p>" for line in lines]
    if steps:
        data = script_json([description(facts, step) for step in steps])
        script = SCRIPT.read_text(encoding="utf-8").replace("{{STEPS}}", data)
        parts.append(f"<script>{script}</script>")
    return document(facts.title, STYLE, "".join(parts))


# ---- the tree ------------------------------------------------------------------------------------


def tree(facts: Facts, root: Group) -> Iterator[str]:
    """The lines of ops in <details> of their modules, without recursion."""
    left, unfold = LINES, len(facts.ops) <= UNFOLDED
    waiting: list[Any] = [*reversed(root.items)]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Operation):
            left -= 1
            if left >= 0:
                yield op_line(facts, item)
        elif isinstance(item, Repeat):
            yield f'<div class="repeat">{html.escape(item.note())}</div>'
        elif left > 0:
            yield summary(item, unfold or len(root.items) == 1)
            waiting += ["</div></details>", *reversed(item.items)]
    if left < 0:
        yield f'<div class="repeat">and {-left:,} ops more, which str(drawing) shows</div>'


def summary(group: Group, is_open: bool) -> str:
    ops = list(group.ops())
    size = sum(op.bytes for op in ops)
    told = count_text(len(ops), "op") + (f", {size_text(size)} saved" if size else "")
    return (
        f"<details{' open' if is_open else ''}><summary>{html.escape(group.title)} "
        f'<span class="dim">{told}</span></summary><div>'
    )


def op_line(facts: Facts, op: Operation) -> str:
    texts = [link(facts, source) for source in op.sources]
    remarks = list(op.notes)
    if op.view_of is not None:
        base = facts.text_of(op.view_of) or "what has no gradient"
        remarks.insert(0, f"a view of {base}, in the same memory")
    parts = [
        f"<code>{html.escape(op.name)}</code>",
        f"<span>{html.escape(op.result)}</span>",
    ]
    if any(texts):
        parts.append(f"<span>← {', '.join(filter(None, texts))}</span>")
    if op.bytes:
        roles = ", ".join(f"{saved.role} {saved.kind}" for saved in op.saved)
        parts.append(f'<span title="{html.escape(roles)}">saved {size_text(op.bytes)}</span>')
    parts += [f'<span class="dim">{html.escape(remark)}</span>' for remark in remarks]
    number = f'<a href="#op{op.number}">#{op.number}</a>'
    return f'<div class="op" id="op{op.number}">{number}<div>{"".join(parts)}</div></div>'


def link(facts: Facts, source: Source) -> str:
    text = html.escape(facts.text_of(source))
    return f'<a href="#op{source.number}">{text}</a>' if source.kind == "op" else text


def leaves(facts: Facts) -> Iterator[str]:
    if not facts.leaves:
        return
    total = sum(leaf.bytes for leaf in facts.leaves)
    is_open = " open" if len(facts.leaves) <= FEW else ""
    yield f"<h2>Leaves: where gradients end</h2><details{is_open}><summary>"
    yield f"{count_text(len(facts.leaves), 'leaf', 'leaves')}, {size_text(total)}</summary>"
    yield '<div class="scroll"><table><tr><th>name</th><th>shape</th><th>bytes</th>'
    yield "<th>inputs</th><th></th></tr>"
    for leaf in facts.leaves[:LEAVES]:
        yield leaf_row(leaf)
    yield "</table>"
    if len(facts.leaves) > LEAVES:
        yield f'<p class="dim">and {len(facts.leaves) - LEAVES:,} more</p>'
    yield "</div></details>"


def leaf_row(leaf: Leaf) -> str:
    cells = [str(leaf.kind), size_text(leaf.bytes), str(leaf.uses), "; ".join(leaf.notes)]
    rest = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
    name = html.escape(leaf.name)
    return f'<tr class="leaf" id="leaf{leaf.number}"><td>{name}</td>{rest}</tr>'


# ---- steps ---------------------------------------------------------------------------------------


def stepper() -> list[str]:
    buttons = [f'<button id="{key}">{key}</button> ' for key in ("first", "back", "next", "last")]
    return [
        '<div id="steps"><h2>Backward, step by step</h2>',
        *buttons,
        '<p id="at"></p><div id="values"></div><p class="dim">In the order in which it runs, from '
        "a gradient of ones. Arrow keys, Home and End move, too.</p></div>",
    ]


def description(facts: Facts, step: Step) -> dict[str, Any]:
    """A step as the script shows it: where, a title, and cards of (heading, [(title, value)])."""
    if step.at.kind == "leaf":
        leaf = facts.leaves[step.at.number - 1]
        cards = [("is accumulated in .grad", [(leaf.name, values_text(step.gradients[0]))])]
        return {
            "at": f"leaf{leaf.number}",
            "title": f"{leaf.name} has its gradient",
            "cards": cards,
        }
    op = facts.ops[step.at.number - 1]
    several = len(step.gradients) > 1
    came = [
        (f"of output {i}" if several else f"of the result {op.result}", values_text(gradient))
        for i, gradient in enumerate(step.gradients)
    ]
    held = [(role, values_text(value)) for role, value in step.saved]
    sent = []
    for to, gradient, total in step.sends:
        sent.append((f"to {facts.text_of(to)}", values_text(gradient)))
        if total is not None:
            sent.append((f"{facts.text_of(to)} has, with what came before", values_text(total)))
    cards = [("gradient that comes in", came), ("saved in forward", held), ("sends", sent)]
    return {
        "at": f"op{op.number}",
        "title": f"#{op.number} {op.name} runs",
        "cards": [card for card in cards if card[1]],
    }


def values_text(tensor: Tensor | None) -> str:
    """A tensor's values, as it is printed, without what stands around them."""
    if tensor is None:
        return "none"
    start, text = "tensor(", str(tensor)
    text = text.removeprefix(start).removesuffix(")")
    return "\n".join(line.removeprefix(" " * len(start)) for line in text.split("\n"))
