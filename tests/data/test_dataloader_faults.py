"""Workers that raise, die or hang."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from data_helpers import Faulty, assert_no_children

import tiny_torch
from tiny_torch.utils import data
from tiny_torch.utils.data._utils import worker

pytestmark = pytest.mark.filterwarnings(
    "ignore:This DataLoader will create", "ignore:.*fork.*:DeprecationWarning"
)


@pytest.fixture(autouse=True)
def no_children_after():
    yield
    assert_no_children()


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(worker, "CHECK_SECONDS", 0.3)


def raiser(error):
    def fault():
        raise error

    return fault


def outcomes(torch, fault, **options):
    """The batches of two, or the errors in their place."""
    loader = torch.utils.data.DataLoader(Faulty(fault), batch_size=2, num_workers=2, **options)
    iterator, found = iter(loader), []
    for _ in range(len(loader)):
        try:
            found.append(next(iterator).tolist())
        except Exception as error:
            found.append(error)
    assert next(iterator, "end") == "end"
    return found


# ---- a worker raises ---------------------------------------------------------------------------


class TwoArguments(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


class WithMessage(Exception):
    message = "text"

    def __init__(self, message):
        super().__init__(message)
        self.message = message


@pytest.mark.parametrize(
    "error, kind",
    [
        (ValueError("so it is"), ValueError),
        (KeyError("so it is"), KeyError),
        (IndexError("so it is"), IndexError),
        (WithMessage("so it is"), WithMessage),
        (TwoArguments("so it is", 1), RuntimeError),
    ],
)
def test_exceptions(torch, error, kind):
    """Of their own type, with the worker's traceback, in the place of their batch."""
    first, second, found, last = outcomes(torch, raiser(error))
    assert [first, second, last] == [[0, 1], [2, 3], [6, 7]]
    assert type(found) is kind
    name = type(error).__name__
    start = f"Caught {name} in DataLoader worker process 0.\nOriginal Traceback (most recent call "
    assert str(found).startswith(start)
    assert "in __getitem__\n    self.fault()" in str(found) and "so it is" in str(found)


def test_exceptions_that_cannot_be_sent():
    class Local(Exception):
        pass

    found = outcomes(tiny_torch, raiser(Local("so it is")))[2]
    assert type(found) is RuntimeError and "Caught Local in DataLoader worker" in str(found)


def test_batches_that_cannot_be_sent():
    x = tiny_torch.ones(2, requires_grad=True)
    for sample, kind, text in [
        (lambda: 1, AttributeError, "Can't pickle local object|Can't get local object"),
        (2 * x, RuntimeError, "Cowardly refusing to serialize non-leaf tensor which requires_grad"),
    ]:
        loader = data.DataLoader([sample], batch_size=None, num_workers=1)
        with pytest.raises(kind, match=rf"(?s)Caught {kind.__name__} in .*({text})"):
            list(loader)


def test_exceptions_at_the_start():
    class Stream(data.IterableDataset):
        def __iter__(self):
            raise ValueError("no stream")

    def init(number):
        raise ValueError(f"not {number}")

    with pytest.raises(ValueError, match=r"(?s)worker process 0.*no stream"):
        list(data.DataLoader(Stream(), num_workers=2))
    loader = data.DataLoader(range(4), num_workers=2, worker_init_fn=init)
    with pytest.raises(ValueError, match=r"(?s)worker process 0.*not 0"):
        list(loader)


def test_persistent_workers_go_on_after_an_exception():
    loader = data.DataLoader(
        Faulty(raiser(ValueError())), batch_size=2, num_workers=2, persistent_workers=True
    )
    for _ in range(2):
        with pytest.raises(ValueError):
            list(loader)


# ---- a worker dies -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault, cause",
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "is killed by signal: Killed. "),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), "is killed by signal: Terminated. "),
        (lambda: os._exit(3), "exited unexpectedly with exit code 3. Details are lost"),
        (lambda: os._exit(0), "exited unexpectedly with exit code 0. Details are lost"),
        (lambda: sys.exit(2), "exited unexpectedly with exit code 2. Details are lost"),
    ],
)
@pytest.mark.parametrize("in_order", [True, False])
def test_deaths(fault, cause, in_order):
    """What it had sent is not lost, nor what others send."""
    found = outcomes(tiny_torch, fault, in_order=in_order)
    (error,) = [item for item in found if not isinstance(item, list)]
    assert sorted(item for item in found if item is not error) == [[0, 1], [2, 3], [6, 7]]
    assert type(error) is RuntimeError and type(error.__cause__) is RuntimeError
    pid = (
        str(error).removeprefix("DataLoader worker (pid(s) ").removesuffix(") exited unexpectedly")
    )
    assert pid.isdecimal() and str(error.__cause__).startswith(
        f"DataLoader worker (pid {pid}) {cause}"
    )


DEATH = """
    import os, re
    from {lib}.utils.data import DataLoader

    class Deadly:
        def __len__(self):
            return 4

        def __getitem__(self, index):
            os._exit(3)

    try:
        list(DataLoader(Deadly(), num_workers=1, timeout=20))
    except Exception as error:
        lines = [type(error), error, type(error.__cause__), error.__cause__]
        print(re.sub(r"\\d\\d+", "PID", repr(list(map(str, lines)))))
"""


def test_the_type_and_text_of_a_death_are_pytorchs(oracle):
    def run(lib):
        code = textwrap.dedent(DEATH).format(lib=lib)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        return done.stdout

    assert run("tiny_torch") == run("torch") != ""


def test_a_death_is_noticed_though_a_grandchild_holds_the_channel(impatient):
    def fault():
        if os.fork() == 0:
            time.sleep(2)
        os._exit(1)

    assert sum(isinstance(item, RuntimeError) for item in outcomes(tiny_torch, fault)) == 1


def test_persistent_workers_are_started_again_after_a_death(tmp_path):
    def fault():
        if not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os._exit(1)

    loader = data.DataLoader(Faulty(fault), num_workers=2, persistent_workers=True)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(loader)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        iter(loader)
    assert [x.item() for x in loader] == list(range(8))


# ---- a worker hangs ----------------------------------------------------------------------------


def hang():
    time.sleep(60)


def hang_and_refuse_to_stop():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(60)


def be_stopped():
    os.kill(os.getpid(), signal.SIGSTOP)


@pytest.mark.parametrize("fault", [hang, hang_and_refuse_to_stop, be_stopped])
def test_timeout(impatient, fault):
    start = time.monotonic()
    iterator = iter(data.DataLoader(Faulty(fault), batch_size=2, num_workers=2, timeout=0.5))
    assert [next(iterator).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.5 seconds"):
            next(iterator)
    del iterator
    assert multiprocessing.active_children() == []
    assert time.monotonic() - start < 10


def test_a_worker_that_is_slow_is_waited_for_after_a_timeout():
    loader = data.DataLoader(
        Faulty(lambda: time.sleep(0.5)), batch_size=2, num_workers=1, timeout=0.2
    )
    iterator, found = iter(loader), []
    while (batch := attempt_next(iterator)) is not None:
        found.append(batch)
    assert found[0] == [0, 1] and found[-1] == [6, 7] and "late" in found
    assert [batch for batch in found if batch != "late"] == [[0, 1], [2, 3], [4, 5], [6, 7]]


def attempt_next(iterator):
    try:
        return next(iterator).tolist()
    except RuntimeError:
        return "late"
    except StopIteration:
        return None


def test_parallel_ops_after_a_fork(torch):
    """The threads of OpenMP, which the parent has started, are not in its children."""
    big = torch.ones(1000, 1000)
    expected = (big @ big).sum().item() + (big + 1).exp().sum().item()

    class Heavy:
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return (big @ big).sum() + (big + 1).exp().sum()

    loader = torch.utils.data.DataLoader(Heavy(), batch_size=None, num_workers=2, timeout=60)
    for _ in range(2):
        assert [x.item() for x in loader] == pytest.approx([expected] * 4, rel=1e-6)
        assert (big @ big).sum().item() == 1e9
