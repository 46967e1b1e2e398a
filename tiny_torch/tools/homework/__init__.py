"""Homework: one op, layer or kernel at a time, over the framework that works.

`python -m tiny_torch homework` lists the tasks. A student's file is checked in a process that gets
no answers (worker.py); they are computed, and compared, in the one that started it (trial.py).
"""
