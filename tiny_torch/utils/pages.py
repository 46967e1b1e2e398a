"""What our HTML pages share: colours, light and dark, and the frame that makes text a page."""

from __future__ import annotations

import html
import json
from typing import Any

STYLE = """
:root { color-scheme: light dark; --bg: #fff; --fg: #1d2530; --dim: #66707d; --line: #d8dde4;
  --card: #f5f7fa; --bar: #cfe2f7; --curve: #2b6cb0; --mark: #c2185b; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --bg: #14181d; --fg: #e4e8ee; --dim: #98a2af;
  --line: #333b45; --card: #1d232a; --bar: #24405f; --curve: #6cb2f5; --mark: #ff5c93;
  --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 16px; max-width: 1200px; background: var(--bg); color: var(--fg);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 24px 0 8px; }
h3 { font-size: 15px; margin: 12px 0 4px; }
p { margin: 4px 0; }
.dim { color: var(--dim); }
.scroll { overflow-x: auto; }
a { color: inherit; }
code { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 3px 8px; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--dim); font-weight: normal; }
button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
  border-radius: 6px; padding: 3px 10px; cursor: pointer; }
button:disabled { color: var(--dim); cursor: default; }
"""


def document(title: str, style: str, body: str) -> str:
    """A page that needs no other file; `style` adds to ours, and `body` is HTML."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}{style}</style>{body}</html>\n"
    )


def script_json(content: Any) -> str:
    """JSON that may stand within <script>."""
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
