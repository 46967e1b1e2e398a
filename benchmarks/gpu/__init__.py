"""What `benchmarks/gpu.sh` does on a machine with a GPU: session.py says the order."""
