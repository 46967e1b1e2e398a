"""SummaryWriter: figures of a training, by tensorboardX or by tensorboard alone."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tiny_torch import _core
from tiny_torch.base.extras import optional
from tiny_torch.tensor import Tensor
from tiny_torch.utils import event_files

FORWARDED = (
    *("add_scalar", "add_scalars", "add_histogram", "add_image", "add_images", "add_figure"),
    *("add_text", "add_pr_curve", "add_video", "add_audio", "add_embedding"),
)


class SummaryWriter:
    """Writes events into a folder that `tensorboard --logdir` shows.

    PyTorch's arguments and methods; tensors of any device go as NumPy arrays to tensorboardX, or to
    tensorboard (`event_files.py`), which lacks add_video, add_audio and add_embedding here. Not
    there: add_graph and add_mesh.
    Raises ModuleNotFoundError where both packages are missing, NotImplementedError for what is not
    there.
    Source: https://docs.pytorch.org/docs/stable/tensorboard.html

    >>> from tiny_torch.utils.event_writer import SummaryWriter
    >>> SummaryWriter.__name__
    'SummaryWriter'
    """

    def __init__(
        self,
        log_dir: str | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        self._writer = writing_package().SummaryWriter(
            log_dir,
            comment=comment,
            purge_step=purge_step,
            max_queue=max_queue,
            flush_secs=flush_secs,
            filename_suffix=filename_suffix,
        )
        self.log_dir = str(self._writer.logdir)

    def __getattr__(self, name: str) -> Any:
        if name in ("add_graph", "add_mesh"):
            raise NotImplementedError(f"SummaryWriter.{name} is not supported")
        if name not in FORWARDED:
            raise AttributeError(f"'SummaryWriter' object has no attribute '{name}'")
        method = getattr(self._writer, name)

        def add(*args: Any, **kwargs: Any) -> None:
            named = {key: _plain(value) for key, value in kwargs.items()}
            method(*map(_plain, args), **named)

        return add

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Adds hyperparameters and what they led to, as a run of its own below the folder."""
        if hparam_domain_discrete is not None:
            raise NotImplementedError("SummaryWriter.add_hparams: hparam_domain_discrete")
        hparams, metrics = _plain(hparam_dict), _plain(metric_dict)
        self._writer.add_hparams(hparams, metrics, name=run_name, global_step=global_step)

    def get_logdir(self) -> str:
        return self.log_dir

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def writing_package() -> Any:
    """tensorboardX, or what writes records by tensorboard; ModuleNotFoundError without both."""
    try:
        return import_module("tensorboardX")
    except ImportError:
        optional("tensorboard", "tensorboard", "tensorboard", "SummaryWriter")
        return event_files


def _plain(value: Any) -> Any:
    """A value without tensors, in dicts and lists, too; NumPy has no bfloat16."""
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        return (value.float() if value.dtype is _core.bfloat16 else value).numpy()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
