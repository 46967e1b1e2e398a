"""A folder for PYTHONPATH: the Python of a child process runs the sitecustomize.py in it."""
