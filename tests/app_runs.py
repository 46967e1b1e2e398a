"""Fixtures for the apps: `run` trains in this process, `start` and `finish` in one of their own."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

APPS = Path(__file__).parents[1] / "apps"


@pytest.fixture
def apps():
    """The folder of the apps, from which they can be imported; skips without what they need."""
    for package in ("sklearn", "matplotlib", "tqdm", "PIL"):
        pytest.importorskip(package)
    if str(APPS) not in sys.path:
        sys.path.insert(0, str(APPS))
    return APPS


@pytest.fixture
def app(apps):
    """app(name): the module of an app."""
    return importlib.import_module


@pytest.fixture
def run(apps, tmp_path):
    """run(name, *options): the history of a training in the folder tmp_path, or in --out."""

    def train(name, *options):
        return importlib.import_module(name).main(["--out", str(tmp_path), *options])

    return train


@pytest.fixture
def start(apps, tmp_path):
    """start(name, *options): the process of an app that writes into tmp_path, or into --out."""
    started = []

    def begin(name, *options):
        command = [sys.executable, "-u", str(apps / f"{name}.py"), "--out", str(tmp_path), *options]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        started.append(subprocess.Popen(command, env=environment, **pipes))
        return started[-1]

    yield begin
    for process in started:
        with process:
            process.kill()


@pytest.fixture
def finish(start):
    """finish(name, *options): what an app's process printed, once it has ended well."""

    def wait(name, *options):
        printed, errors = start(name, *options).communicate(timeout=120)
        assert "Traceback" not in errors, errors
        return printed

    return wait
