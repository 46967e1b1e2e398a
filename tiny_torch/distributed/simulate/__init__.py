"""How long a step would take on 2 to 10,000 workers, and how much memory, by strategy.

    python -m tiny_torch.distributed.simulate --help

step.py records what a step of one process computes; strategies.py lets n workers take it, connected
by links of a latency and a bandwidth; weather.py adds stragglers and failures; page.py draws.
"""

from tiny_torch.distributed.simulate.step import Layer, Step, record_step
from tiny_torch.distributed.simulate.strategies import STRATEGIES, Estimate, Link
from tiny_torch.distributed.simulate.weather import Weather

__all__ = ["STRATEGIES", "Estimate", "Layer", "Link", "Step", "Weather", "record_step"]
