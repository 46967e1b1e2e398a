"""What the documents say of files and functions is so."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tiny_torch
from tiny_torch.tools.homework.task import all_tasks

ROOT = Path(__file__).parents[2]
LIFE = (ROOT / "docs/life-of-an-op.md").read_text()
# "3. **`file`: `name`, `name`.** text", until the next step or heading
STEP = re.compile(r"^(\d+)\. \*\*`([^`]+)`: (.+?)\.\*\*(.*?)(?=^\d+\. \*\*|^## )", re.M | re.S)
STEPS = [
    (int(number), path, re.findall(r"`([^`]+)`", names), text)
    for number, path, names, text in STEP.findall(LIFE)
]


def python_names(path: Path) -> set[str]:
    """Functions and classes of a file, methods as Class.method."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{f.name}" for f in node.body if isinstance(f, ast.FunctionDef)}
            names |= {
                f"{node.name}.{target.id}"
                for part in node.body
                if isinstance(part, ast.Assign)
                for target in part.targets
                if isinstance(target, ast.Name)
            }
    return names


def defines(path: Path, name: str) -> bool:
    if path.suffix == ".py":
        return name in python_names(path)
    # a definition or a record: `type name(`, `Class::name(`, `KIND(name,`; no comment, no call
    before = r"^(?!\s*(?://|return|throw|else))(?:[\w:<>,&* \[\]]+[ :*&]|[A-Z]+\()"
    defined = f"{before}{re.escape(name)}[(,]"
    return re.search(defined, path.read_text(), re.M) is not None


def test_steps_are_counted():
    assert [number for number, *_ in STEPS] == list(range(1, len(STEPS) + 1))
    assert len(STEPS) == LIFE.count(". **`")


@pytest.mark.parametrize("path, name", [(p, n) for _, p, names, _ in STEPS for n in names])
def test_functions_on_the_way_of_an_op_exist(path, name):
    assert defines(ROOT / path, name)


@pytest.mark.parametrize("number, path, text", [(n, p, text) for n, p, _, text in STEPS])
def test_extracts_are_short_and_stand_in_their_file(number, path, text):
    code = (ROOT / path).read_text()
    extracts = re.findall(r"```\w+\n(.*?)```", text, re.S)
    assert extracts
    for extract in extracts:
        lines = textwrap.dedent(extract).strip().splitlines()
        assert len(lines) <= 3
        wanted = r"\n\s*".join(re.escape(line.strip()) for line in lines)
        assert re.search(wanted, code), extract


def test_names_without_a_definition_are_found_out():
    assert not defines(ROOT / "tiny_torch/autograd/engine.py", "Run.no_such_step")
    assert not defines(ROOT / "src/core/iter.cpp", "astype")


def without_figures(text: str) -> str:
    """Without what differs between machines and edits: times, instruction sets, line numbers."""
    text = re.sub(r"[\d.]+(e[+-]?\d+)? (ns|us|ms|s|GB/s|GFLOP/s)\b", "...", " ".join(text.split()))
    text = re.sub(r"\b(instruction set|for) v\w+", r"\1 ...", text)
    return re.sub(r"(\.\w+):\d+", r"\1:N", text)


def test_the_explanation_is_what_explain_says():
    setup = re.search(r"^```python\n(a, b, c = .*?)\n```", LIFE, re.M | re.S)[1]
    shown = r"^```text\n>>> torch.utils.explain\((\".*?\")\)\n(.*?)^```"
    line, said = re.search(shown, LIFE, re.M | re.S).groups()
    namespace = {"torch": tiny_torch}
    exec(setup, namespace)
    threads = tiny_torch.get_num_threads()
    tiny_torch.set_num_threads(2)  # as where it was written
    try:
        told = tiny_torch.utils.explain(ast.literal_eval(line), namespace)
    finally:
        tiny_torch.set_num_threads(threads)
    assert without_figures(str(told)) == without_figures(said)


# ------------------------------------------------------------------------------ blocks of code
# life-of-an-op.md and teaching.md have tests of their own, above; two pages are generated
PAGES = [
    "README.md",
    *[
        f"docs/{path.name}"
        for path in sorted((ROOT / "docs").glob("*.md"))
        if path.name not in ("life-of-an-op.md", "teaching.md", "compatibility.md", "ecosystem.md")
    ],
]


def run_page(path: Path, folder: Path) -> subprocess.CompletedProcess:
    """Runs a page's blocks in a process and a folder of their own."""
    command = [sys.executable, ROOT / "docs/site/blocks.py", path]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_and_print_what_they_say(page, tmp_path):
    if page == "docs/export.md":
        pytest.importorskip("onnx")
    done = run_page(ROOT / page, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "page, told",
    [
        ("```python\nprint(1)  # 2\n```\n", "not printed: 2"),
        ("```python\nprint(1)  # 2\nprint(2)  # 1\n```\n", "not printed: 1"),
        ("\n```python\n1 / 0\n```\n", 'page.md", line 3'),
        ("<!-- figure: layout(x)\nOf what? -->\n", "'x' is not defined"),
        ("```console\n$ echo one\ntwo\n```\n", "not printed: two"),
        ("```console\n$ false\n```\n", "false"),
    ],
)
def test_blocks_that_do_not_hold_are_found_out(page, told, tmp_path):
    (tmp_path / "page.md").write_text(page)
    done = run_page(tmp_path / "page.md", tmp_path)
    assert done.returncode == 1
    assert told in done.stderr


def test_a_teachers_page_runs_from_top_to_bottom(tmp_path):
    page = (ROOT / "docs/teaching.md").read_text()
    blocks = re.findall(r"^```(sh|python)\n(.*?)^```", page, re.M | re.S)
    assert len(blocks) == page.count("\n```") / 2
    script = f'set -e\npython() {{ "{sys.executable}" "$@"; }}\n'
    for language, text in blocks:
        script += text if language == "sh" else f"python - << 'BLOCK'\n{text}BLOCK\n"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "| 9.1 Running mean | 6 | 4 | ok |" in done.stdout
    assert "ada 5 missing: ['1.6', '2.2', '9.1']\nbob 0 missing" in done.stdout
    assert "2 students, 1 files: 1 passed" in done.stdout
    made = {path.name for path in (tmp_path / "autumn/notebooks").iterdir()}
    assert made == {"1_views.ipynb", "2.2_quotient.ipynb"}


NEEDLE = (ROOT / "docs/from-needle.md").read_text()


def test_tasks_that_are_named_for_needles_exist():
    named = set(re.findall(r"\b\d\.\d\b", NEEDLE))
    assert len(named) > 30
    assert named <= all_tasks().keys()


@pytest.mark.parametrize("path", re.findall(r"`((?:apps|tiny_torch)/[\w/.]+)`", NEEDLE))
def test_files_that_are_named_for_needles_exist(path):
    assert (ROOT / path).is_file()


# ------------------------------------------------------------------------------------ README.md
README = (ROOT / "README.md").read_text()
RESULTS = (ROOT / "benchmarks/results/epyc-2-cores.md").read_text()


def test_the_reading_list_is_two_weekends():
    count, said = re.search(r"(\d+) files of about ([\d,]+) lines", README).groups()
    files = [Path(path) for path in re.findall(r"^\| `([\w/.]+)` \|", README, re.M)]
    lines = sum(len((ROOT / path).read_text().splitlines()) for path in files)
    assert files[0] == Path("src/core/ops.def")
    assert len(files) == len(set(files)) == int(count)
    assert lines <= 8000
    assert abs(lines - int(said.replace(",", ""))) < 200


@pytest.mark.parametrize("line", re.findall(r"^\| (.+\d [mµ]s \|.*) \|$", README, re.M))
def test_figures_are_those_of_the_benchmarks(line):
    name, ours, theirs, time, memory = [cell.strip() for cell in line.split("|")]
    measured = re.search(rf"^\| {re.escape(name)} \|(.*)", RESULTS, re.M)[1]
    assert measured.startswith(f" {ours} | {theirs} | {time} |")
    assert not memory or f"({memory})" in measured
