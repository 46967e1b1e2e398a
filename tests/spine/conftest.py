collect_ignore = ["package.py", "training.py"]  # for another tiny_torch than this
