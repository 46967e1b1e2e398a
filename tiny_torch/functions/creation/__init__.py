"""Making tensors: by a rule, from data, from others' memory."""
