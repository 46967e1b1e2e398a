"""What Module is made of beside module.py, and what makes a layer of a function."""
