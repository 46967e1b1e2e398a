"""Functions: layers of neural networks."""
