"""Element types, devices, layouts, modes: what stands below Tensor, and uses none of it."""
