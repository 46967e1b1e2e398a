"""From the rows of autograd/record.py to events, tables, traces: all that happens afterwards."""
