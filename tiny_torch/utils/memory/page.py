"""One HTML page of a recording: its data as JSON in a template that has all else (page.html)."""

from __future__ import annotations

import os
import time
from os import PathLike
from pathlib import Path
from typing import Any

from tiny_torch.utils.pages import STYLE, script_json

TEMPLATE = Path(__file__).with_name("page.html")
BLOCKS = 20_000  # the largest, at most: the rest is one area, without its parts


def write_page(recording: Any, leaks: list[Any], path: str | PathLike[str]) -> None:
    """Writes the page; nothing where it cannot be written whole."""
    text = TEMPLATE.read_text(encoding="utf-8").replace("{{STYLE}}", STYLE)
    text = text.replace("{{DATA}}", script_json(data(recording, leaks)))
    part = f"{os.fspath(path)}.part"
    try:
        Path(part).write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError:
        Path(part).unlink(missing_ok=True)
        raise


class Table:
    """Texts, or tuples of them, by number: each stands in the page once."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def number(self, text: Any) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def data(recording: Any, leaks: list[Any]) -> dict[str, Any]:
    """What the page shows: blocks as rows of numbers, which point into `sites` and `texts`."""
    sites, texts = Table(), Table()
    shown = sorted(recording.blocks, key=lambda block: -block.bytes)[:BLOCKS]
    shown.sort(key=lambda block: block.made)
    rows = [
        [
            block.bytes,
            block.made,
            -1 if block.freed is None else block.freed,
            sites.number(block.site),
            round(block.seconds * 1e3, 2),
            round(block.ended * 1e3, 2),
            texts.number(block.freed_by),
            [texts.number(text) for text in block.saved_by],
            [texts.number(text) for text in block.holders],
        ]
        for block in shown
    ]
    most, at = recording.peak
    return {
        "blocks": rows,
        "sites": [list(site) for site in sites.numbers],
        "texts": list(texts.numbers),
        "events": recording.events,
        "marks": recording.marks,
        "peak": [most, at],
        "left_out": len(recording.blocks) - len(shown),
        "leaks": [
            {
                "reason": leak.reason, "path": leak.path, "where": leak.where,
                "blocks": leak.blocks, "bytes": leak.bytes, "steps": leak.steps,
                "advice": leak.advice,
                "sites": [[sites.number(site), size] for site, size in leak.sites.items()],
            }
            for leak in leaks
        ],
        "when": time.strftime("%Y-%m-%d %H:%M"),
    }  # fmt: skip
