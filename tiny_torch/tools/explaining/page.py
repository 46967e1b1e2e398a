"""An explanation as one HTML page, which needs no other file and no script."""

from __future__ import annotations

import html
from typing import Any

from tiny_torch.tools.explaining.steps import Step, text_of_time
from tiny_torch.utils.pages import document

STYLE = """
.line { font: 15px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; margin-top: 26px; }
.line + .line { margin-top: 0; }
.step { border: 1px solid var(--line); border-radius: 8px; padding: 8px 12px; margin: 10px 0; }
.step .step { margin-left: 4px; }
.step h2 { margin: 0 0 6px; overflow-wrap: anywhere; }
.step h2 span { float: right; font-weight: normal; color: var(--dim); font-size: 14px; }
dl { display: grid; grid-template-columns: 84px minmax(0, 1fr); gap: 2px 10px; margin: 0; }
dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
dd + dd { grid-column: 2; }
dd.source { font: 13px/1.5 ui-monospace, monospace; color: var(--dim); }
.bar { height: 4px; background: var(--bar); margin: 4px 0; }
@media (max-width: 600px) { dl { grid-template-columns: minmax(0, 1fr); }
  dd + dd { grid-column: 1; }
  dt { margin-top: 6px; } .step h2 span { float: none; display: block; } }
"""


def step_box(step: Step, most: int) -> str:
    """A step as a box: its facts, and the steps within; the bar is its share of the slowest."""
    facts = []
    for label, lines in step.facts.items():
        facts.append(f"<dt>{html.escape(label)}</dt>")
        for line in lines:
            kind = ' class="source"' if is_source(line) else ""
            facts.append(f"<dd{kind}>{html.escape(line)}</dd>")
    time = step.time or step.call
    width = f"{100 * time / max(most, 1):.1f}%"
    within = "".join([step_box(inner, most) for inner in step.steps])
    return (
        f'<div class="step"><h2>{step.number}. {html.escape(step.title)}'
        f"<span>{text_of_time(time)}</span></h2>"
        f'<div class="bar" style="width:{width}"></div><dl>{"".join(facts)}</dl>{within}</div>'
    )


def is_source(line: str) -> bool:
    """Whether it names a file and a line of ours."""
    return line.startswith(("src/", "tiny_torch/"))


def explanation_page(explanation: Any) -> str:
    """The page's text."""
    most = max([step.time or step.call for step in explanation.all()], default=1)
    parts = [
        f"<h1>{html.escape(explanation.title)}</h1>",
        f'<p class="dim">{html.escape(explanation.machine)}. ',
    ]
    parts.append("Bars compare times in kernels, or of calls that ran none.")
    parts.append(f" {html.escape(explanation.note)}</p>")
    for path, steps in explanation.groups():
        for depth, place in enumerate(path):
            where = f' <span class="dim">{html.escape(place.where)}</span>' if place.where else ""
            parts.append(
                f'<p class="line" style="padding-left:{depth * 14}px">{html.escape(place.text)}'
                f"{where}</p>"
            )
        parts += [step_box(step, most) for step in steps]
    return document(explanation.title, STYLE, "".join(parts))
