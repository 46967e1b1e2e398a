"""`python -m tiny_torch homework …`: the command line of students and teachers."""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

from tiny_torch.autograd._profiler.files import write_whole
from tiny_torch.compat import run as runner
from tiny_torch.tools import apps
from tiny_torch.tools.homework import course, grading, kernel, new, notebook, speed, used
from tiny_torch.tools.homework.proof import prove
from tiny_torch.tools.homework.task import Task
from tiny_torch.tools.homework.telling import verdict_lines
from tiny_torch.tools.homework.trial import check

MINE = "my_homework"
STATE = "status.json"
MARKS = {"": " ", "started": "~", "passed": "+", "used": "*"}


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; --help lists what there is\n")


def at_least_1(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"at least 1, got {text}")
    return int(text)


class Mine:
    """A student's folder: a file per task of the course, and what is known of them.

    {number: {"passed": a file's digest, "shown": bool, "hints": how many, "used": bool}}
    """

    def __init__(self, folder: Path, tasks: dict[str, Task]) -> None:
        self.folder, self.tasks = folder, tasks
        self.path = folder / STATE
        try:
            self.known: dict[str, dict[str, Any]] = json.loads(self.path.read_text())
        except FileNotFoundError:
            self.known = {}
        except ValueError as error:
            raise ValueError(
                f"{self.path} is no status: {error}; delete it to begin anew"
            ) from None

    def of(self, task: Task) -> dict[str, Any]:
        return self.known.setdefault(task.number, {})

    def save(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, json.dumps(self.known, indent=1) + "\n")

    def file(self, task: Task) -> Path:
        return self.folder / task.file

    def has_passed(self, task: Task) -> bool:
        """Whether the file, as it is now, has passed."""
        path = self.file(task)
        digest = self.known.get(task.number, {}).get("passed")
        return path.is_file() and digest == digest_of(path.read_text())

    def stale_tasks(self) -> list[str]:
        """What is to be used, but is not: as it is now, it has not passed."""
        wanted = [n for n, task in self.tasks.items() if self.known.get(n, {}).get("used")]
        return [number for number in wanted if not self.has_passed(self.tasks[number])]

    def stage(self, task: Task) -> str:
        if self.has_passed(task):
            return "used" if self.of(task).get("used") else "passed"
        return "started" if self.file(task).is_file() else ""


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# ---- students ----------------------------------------------------------------------------------


def list_tasks(mine: Mine, args: argparse.Namespace) -> int:
    track = ""
    for task in mine.tasks.values():
        if task.track != track:
            track = task.track
            print(f"\n{task.number.partition('.')[0]} {track}")
        mark = MARKS[mine.stage(task)]
        print(
            f" {mark} {task.number:5} {task.title:48} {task.points:3} points  {task.minutes:3} min"
        )
    folders = dict.fromkeys(str(task.folder.parents[1]) for task in mine.tasks.values())
    print(f"\n~ begun   + passed   * in use            the pages are in {', '.join(folders)}")
    return 0


def start(mine: Mine, args: argparse.Namespace) -> int:
    path = mine.file(args.task)
    if path.exists():
        raise FileExistsError(
            f"{path} is there already; homework reset {args.task.number} begins anew"
        )
    mine.folder.mkdir(parents=True, exist_ok=True)
    path.write_text(args.task.skeleton)
    number = args.task.number
    print(args.task.page_without_hints)
    print(f"Your file: {path}\nThen: homework check {number}; homework hint {number} gives a step")
    return 0


def check_task(mine: Mine, args: argparse.Namespace) -> int:
    text = used.read(args.task, mine.folder)
    verdict = check(args.task, text, args.seed)
    print(verdict_lines(verdict))
    if verdict.failure is not None:
        print(f"--seed {verdict.seed} makes the same cases again")
    else:
        mine.of(args.task)["passed"] = digest_of(text)
        mine.save()
        if not args.task.stands_alone:
            print(f"homework use {args.task.number} puts it into the framework")
    return int(verdict.failure is not None)


def hint(mine: Mine, args: argparse.Namespace) -> int:
    facts, hints = mine.of(args.task), args.task.hints
    facts["hints"] = min(facts.get("hints", 0) + 1, len(hints))
    mine.save()
    for i, text in enumerate(hints[: facts["hints"]], 1):
        print(f"{i} of {len(hints)}: {text}")
    return 0


def show(mine: Mine, args: argparse.Namespace) -> int:
    task = args.task
    if not args.yes:
        print(
            f"This shows our solution of {task.number}, and your result will say so. Go on? [y/N]"
        )
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            return 1
    mine.of(task)["shown"] = True
    mine.save()
    if task.solution_file.is_file():
        print(f"{task.solution_file}\n\n{task.solution_text}")
    else:
        ours = task.solution()
        lines, first = inspect.getsourcelines(ours)
        print(f"{inspect.getsourcefile(ours)}:{first}\n\n{''.join(lines)}")
    return 0


def use(mine: Mine, args: argparse.Namespace) -> int:
    if args.task.language == "cuda":
        raise ValueError(
            f"{args.task.number} is a kernel of the emulated device, whose own cannot be replaced"
        )
    if args.task.stands_alone:
        raise ValueError(
            f"{args.task.number} stands alone: nothing in the framework does its work, so that "
            "there is nothing to replace"
        )
    if not args.off:
        require_passed(mine, args.task)
    mine.of(args.task)["used"] = not args.off
    mine.save()
    print("homework run SCRIPT trains on: " + (", ".join(in_use(mine)) or "our code alone"))
    return 0


def require_passed(mine: Mine, task: Task) -> None:
    if not mine.has_passed(task):
        raise RuntimeError(
            f"{mine.file(task)} has not passed as it is: homework check {task.number}"
        )


def in_use(mine: Mine) -> list[str]:
    return [n for n, task in mine.tasks.items() if mine.stage(task) == "used"]


def measure_speed(mine: Mine, args: argparse.Namespace) -> int:
    """How fast a kernel that has passed is, next to others: no points."""
    if args.task.language == "cuda":
        raise ValueError(
            f"the speed of {args.task.number} is not measured: the emulator looks at each access, "
            "so that its seconds say nothing about a GPU"
        )
    require_passed(mine, args.task)
    print(speed.table_text(speed.ladder(args.task, mine.file(args.task))))
    return 0


def run_script(mine: Mine, args: argparse.Namespace) -> int:
    """A script, or an app by its name, on the framework with the student's code in it."""
    for number in in_use(mine):
        task = mine.tasks[number]
        text = used.read(task, mine.folder)
        if task.language == "python":
            used.replace(task, task.load(text))
        else:
            used.replace(task, kernel.build_fast(task, mine.file(task)))
        print(f"on your code: {number} {task.title}", file=sys.stderr)
    for number in mine.stale_tasks():
        print(
            f"on OUR code: {number} {mine.tasks[number].title}, for your file has changed since it "
            f"passed: homework check {number}",
            file=sys.stderr,
        )
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, os.getcwd())  # Python had it there: tiny_torch/__init__.py took it away
    if args.script and args.script[0] in apps.apps() and not Path(args.script[0]).exists():
        return apps.main(args.script)
    return runner.main(args.script)


def status(mine: Mine, args: argparse.Namespace) -> int:
    tasks = mine.tasks
    stages = {number: mine.stage(task) for number, task in tasks.items()}
    points = sum(t.points for n, t in tasks.items() if stages[n] in ("passed", "used"))
    print(f"{points} of {sum(t.points for t in tasks.values())} points\n")
    for number, task in tasks.items():
        facts = mine.known.get(number, {})
        notes = [f"{facts['hints']} hints"] if facts.get("hints") else []
        notes += ["solution seen"] if facts.get("shown") else []
        notes += ["changed since it passed"] if number in mine.stale_tasks() else []
        whose = "yours" if stages[number] == "used" else "ours "
        print(f" {whose} | {task.replaces:55} {number:5} {stages[number]:8} {', '.join(notes)}")
    return 0


def reset(mine: Mine, args: argparse.Namespace) -> int:
    path = mine.file(args.task)
    if path.exists():
        kept = path.with_name(path.name + ".old")
        number = 1
        while kept.exists():
            number += 1
            kept = path.with_name(f"{path.name}.old{number}")
        os.replace(path, kept)
        print(f"your file is kept as {kept}")
    mine.of(args.task)["used"] = False
    mine.save()
    return start(mine, args)


# ---- teachers ----------------------------------------------------------------------------------


def grade(mine: Mine, args: argparse.Namespace) -> int:
    table = grading.grade(args.students, mine.tasks, args.jobs, args.seed)
    print(grading.table_text(table))
    for path, text in ((args.json, grading.as_json(table)), (args.csv, grading.as_csv(table))):
        if path is not None:
            write_whole(path, text)
    return 0


def new_course(mine: Mine, args: argparse.Namespace) -> int:
    path = new.make_course(args.made)
    print(f"{path} lists our tasks: delete lines, reorder them, change points")
    return 0


def new_task(mine: Mine, args: argparse.Namespace) -> int:
    if args.course is None:
        raise ValueError(f"no {course.FILE} here: homework course FOLDER makes a course")
    folder = new.make_task(args.course, args.number, args.title, args.kind)
    print(f"{folder} is a task that works; edit its files, then: homework prove {args.number}")
    return 0


def write_notebook(mine: Mine, args: argparse.Namespace) -> int:
    """A notebook of a task, or of all tasks of a track."""
    tasks = [task for task in mine.tasks.values() if task.number.split(".")[0] == args.what]
    if tasks:
        name = tasks[0].folder.parent.name
        title = f"{args.what} {tasks[0].track}"
    else:
        tasks = [task_named(mine, args.what)]
        name, title = Path(tasks[0].file).stem, f"Task {tasks[0].number}"
    print(notebook.write(tasks, name, title, args.out, mine.folder.as_posix()))
    return 0


def prove_tasks(mine: Mine, args: argparse.Namespace) -> int:
    bad, examples = 0, []
    print("| task | cases | wrong solutions that fail | |\n|---|--:|--:|---|")
    tasks = args.tasks or list(mine.tasks.values())
    with ThreadPoolExecutor(args.jobs) as pool:
        for task, proof in zip(tasks, pool.map(prove, tasks), strict=True):
            bad += bool(proof.wrong)
            cells = [f"{task.number} {task.title}", str(proof.cases), str(proof.mutants)]
            print(f"| {' | '.join([*cells, '; '.join(proof.wrong) or 'ok'])} |", flush=True)
            files = new.untouched_files(task)
            if files:
                examples.append(f"{task.number} is the example still in: {', '.join(files)}")
    print(*examples, sep="\n", end="\n" if examples else "")
    return int(bad > 0)


# ---- the command line --------------------------------------------------------------------------


def parser() -> Parser:
    whole = Parser(prog="python -m tiny_torch homework", description=__doc__)
    whole.add_argument(
        "--folder", type=Path, default=Path(MINE), help=f"your files; default: {MINE}"
    )
    whole.add_argument(
        "--course",
        type=Path,
        help=f"a folder with {course.FILE}; default: this folder, if it has one, else all tasks",
    )
    commands = whole.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)

    def command(name: str, function: Callable, text: str, of_task: bool = True) -> Parser:
        found = commands.add_parser(name, help=text, description=text)
        found.set_defaults(function=function)
        if of_task:
            found.add_argument("task", metavar="TASK", help="its number, as 2.2")
        return found

    command("list", list_tasks, "all tasks, and how far you are", False)
    command("start", start, "the task's page, and a file to fill in")
    command("check", check_task, "runs your file on the task's cases").add_argument(
        "--seed", type=int
    )
    command("hint", hint, "one hint more")
    command("show", show, "our solution").add_argument(
        "--yes", action="store_true", help="do not ask"
    )
    command("use", use, "your code in place of ours").add_argument("--off", action="store_true")
    running = command(
        "run", run_script, "a script or an app on the framework with your code in it", False
    )
    running.add_argument(
        "script", nargs=argparse.REMAINDER, help="script.py, or an app's name, with its arguments"
    )
    command("speed", measure_speed, "your kernel's speed, next to a plain one's and ours")
    command("status", status, "what runs on your code, and your points", False)
    command("reset", reset, "begins anew; your file is kept beside")
    grading_ = command("grade", grade, "a folder with a folder per student", False)
    grading_.add_argument("students", type=Path)
    grading_.add_argument("--json", type=Path, help="where to write all results")
    grading_.add_argument("--csv", type=Path, help="where to write points, a line per student")
    grading_.add_argument(
        "--seed", type=int, help="of the cases; default: a new one for each check"
    )
    writing = command("notebook", write_notebook, "a notebook of a task or a track", False)
    writing.add_argument("what", metavar="TASK|TRACK", help="its number, as 2.2 or 2")
    writing.add_argument("--out", type=Path, default=Path(), help="where to; default: here")
    making = command("course", new_course, "a new course, of all our tasks", False)
    making.add_argument("made", type=Path, metavar="FOLDER")
    adding = command("new", new_task, "a task of your own: an example to edit", False)
    adding.add_argument("number", metavar="TASK", help="its number, as 9.1")
    adding.add_argument("title")
    adding.add_argument("--kind", choices=("python", "c++"), default="python")
    proving = command("prove", prove_tasks, "that cases tell right from wrong", False)
    proving.add_argument("tasks", nargs="*", metavar="TASK")
    for parallel in (grading_, proving):
        parallel.add_argument(
            "--jobs", type=at_least_1, default=os.cpu_count() or 1, help="at the same time"
        )
    return whole


def main(arguments: list[str]) -> int:
    """The exit code: 0, 1 for a check that fails, 2 for what cannot be done."""
    args = parser().parse_args(arguments)
    if args.course is None and Path(course.FILE).is_file():
        args.course = Path()
    try:
        mine = Mine(args.folder, course.tasks_of(args.course))
        if "task" in args:
            args.task = task_named(mine, args.task)
        if "tasks" in args:
            args.tasks = [task_named(mine, number) for number in args.tasks]
        return args.function(mine, args)
    except (OSError, ValueError, RuntimeError, kernel.Refused) as error:
        print(f"homework: {error}", file=sys.stderr)
        return 2


def task_named(mine: Mine, number: str) -> Task:
    if number not in mine.tasks:
        raise ValueError(f"there is no task {number}; homework list shows them all")
    return mine.tasks[number]
