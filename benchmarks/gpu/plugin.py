"""For pytest (`-p benchmarks.gpu.plugin`): each outcome goes into the file TT_OUTCOMES at once.

A fault of a kernel leaves a process in which no call of CUDA works. It ends then, so that
pytest-xdist starts another; the test that it would have begun counts as failed.
"""

import os
from typing import Any

lost = False


def pytest_runtest_logreport(report: Any) -> None:
    global lost
    if report.failed and "context is lost" in report.longreprtext:
        lost = True
    if "PYTEST_XDIST_WORKER" in os.environ or (report.passed and report.when != "call"):
        return
    with open(os.environ["TT_OUTCOMES"], "a") as file:
        file.write(f"{report.outcome} {report.nodeid}\n")
        if report.failed:
            file.write(f"{report.longreprtext}\n\n")


def pytest_runtest_setup(item: Any) -> None:
    if lost and "PYTEST_XDIST_WORKER" in os.environ:
        os._exit(1)
