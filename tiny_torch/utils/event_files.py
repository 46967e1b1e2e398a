"""SummaryWriter's records by the package tensorboard alone: its files, its protocol buffers.

Not here: video, audio and embeddings, for which `tiny_torch.utils.tensorboard` wants tensorboardX.
"""

from __future__ import annotations

import io
import math
import os
import socket
import time
from datetime import datetime
from typing import Any

import numpy as np

from tiny_torch.base.extras import optional, pillow

EXTRA = ("tensorboard", "tensorboard", "SummaryWriter")  # package, extra and user of its modules
MAX_THRESHOLDS = 127  # of a precision-recall curve, which TensorBoard's page shows


def part(name: str) -> Any:
    return optional(f"tensorboard.{name}", *EXTRA)


def histogram_edges() -> np.ndarray:
    """TensorBoard's: powers of 1.1 on both sides of 0."""
    steps = math.ceil(math.log(1e32) / math.log(1.1))
    positive = 1e-12 * 1.1 ** np.arange(steps)
    return np.concatenate([-positive[::-1], [0.0], positive])


def as_pixels(image: np.ndarray, dataformats: str) -> np.ndarray:
    """An image (H, W, C) of uint8; several, of N, stand side by side, eight in a row."""
    formats = dataformats.upper()
    if image.ndim != len(formats) or not set(formats) <= set("NCHW"):
        raise ValueError(
            f"size of input tensor {image.shape} does not fit dataformats {dataformats}"
        )
    if image.dtype != np.uint8:
        image = np.clip(image.astype(np.float32) * 255, 0, 255).astype(np.uint8)
    for i, axis in enumerate("NHWC"):
        if axis not in formats:
            formats, image = axis + formats, image[None]
        place = formats.index(axis)
        formats = formats[:place] + formats[place + 1 :]
        image, formats = np.moveaxis(image, place, i), formats[:i] + axis + formats[i:]
    n, h, w, c = image.shape
    columns = min(n, 8)
    rows = -(-n // columns)
    image = np.concatenate([image, np.zeros((rows * columns - n, h, w, c), np.uint8)])
    grid = image.reshape(rows, columns, h, w, c).swapaxes(1, 2).reshape(rows * h, columns * w, c)
    return np.repeat(grid, 3, axis=2) if c == 1 else grid


class SummaryWriter:
    """tensorboardX's methods, as far as `tiny_torch.utils.tensorboard` forwards to them."""

    def __init__(
        self,
        logdir: str | None,
        comment: str,
        purge_step: int | None,
        max_queue: int,
        flush_secs: int,
        filename_suffix: str,
    ) -> None:
        if not logdir:
            started = datetime.now().strftime("%b%d_%H-%M-%S")
            logdir = os.path.join("runs", f"{started}_{socket.gethostname()}{comment}")
        self.logdir = str(logdir)
        self._options = (max_queue, flush_secs, filename_suffix)
        self._files: dict[str, Any] = {}
        self._protos = {
            name: part(f"compat.proto.{name}_pb2") for name in ("event", "summary", "tensor")
        }
        self._file(self.logdir)
        if purge_step is not None:
            log = self._protos["event"].SessionLog
            self._write(self.logdir, purge_step, None, session_log=log(status=log.START))

    def _file(self, folder: str) -> Any:
        if folder not in self._files:
            writers = part("summary.writer.event_file_writer")
            self._files[folder] = writers.EventFileWriter(folder, *self._options)
        return self._files[folder]

    def _write(self, folder: str, step: Any, walltime: float | None, **what: Any) -> None:
        event = self._protos["event"].Event(
            wall_time=time.time() if walltime is None else walltime, **what
        )
        if step is not None:
            event.step = int(step)
        self._file(folder).add_event(event)

    def _add(self, tag: str, step: Any, walltime: float | None, **value: Any) -> None:
        summary = self._protos["summary"].Summary
        value["tag"] = tag.lstrip("/")
        self._write(self.logdir, step, walltime, summary=summary(value=[summary.Value(**value)]))

    def _add_tensor(
        self, tag: str, step: Any, walltime: float | None, metadata: Any, **tensor: Any
    ) -> None:
        made = self._protos["tensor"].TensorProto(**tensor)
        self._add(tag, step, walltime, metadata=metadata, tensor=made)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        value = np.asarray(scalar_value)
        if value.size != 1:
            raise AssertionError("scalar should be 0D")
        self._add(tag, global_step, walltime, simple_value=float(value.reshape(())))

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        summary = self._protos["summary"].Summary
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.logdir, f"{main_tag}_{tag}".replace("/", "_"))
            made = summary.Value(tag=main_tag, simple_value=float(value))
            self._write(folder, global_step, walltime, summary=summary(value=[made]))

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        values = np.asarray(values, dtype=np.float64).reshape(-1)
        if not values.size:
            raise ValueError("The input has no element.")
        bins = histogram_edges() if isinstance(bins, str) and bins == "tensorflow" else bins
        counts, limits = np.histogram(values, bins)
        if max_bins is not None and len(counts) > max_bins:
            step = len(counts) // max_bins  # neighbours that become one
            counts = np.add.reduceat(counts, range(0, len(counts), step))
            limits = np.append(limits[:-1:step], limits[-1])
        used = np.flatnonzero(counts)
        if not used.size:
            raise ValueError("The histogram is empty, please file a bug report.")
        first, last = used[0], used[-1] + 1
        histogram = self._protos["summary"].HistogramProto(
            min=values.min(), max=values.max(), num=len(values), sum=values.sum(),
            sum_squares=values @ values,
            bucket_limit=[*limits[first : last + 1].tolist()],
            bucket=[0.0, *counts[first:last].tolist()],
        )  # fmt: skip
        self._add(tag, global_step, walltime, histo=histogram)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        pixels = as_pixels(np.asarray(img_tensor), dataformats)
        file = io.BytesIO()
        pillow("SummaryWriter.add_image").fromarray(pixels).save(file, format="png")
        height, width, channels = pixels.shape
        image = self._protos["summary"].Summary.Image(
            height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue()
        )
        self._add(tag, global_step, walltime, image=image)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        figures = figure if isinstance(figure, list) else [figure]
        drawn = []
        for each in figures:
            canvas = optional(
                "matplotlib.backends.backend_agg", "matplotlib", "apps", "add_figure"
            ).FigureCanvasAgg(each)
            canvas.draw()
            drawn.append(np.asarray(canvas.buffer_rgba()))
            if close:
                optional("matplotlib.pyplot", "matplotlib", "apps", "add_figure").close(each)
        self.add_image(tag, np.stack(drawn), global_step, walltime, "NHWC")

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        metadata = part("plugins.text.metadata").create_summary_metadata("", "")
        self._add_tensor(
            f"{tag}/text_summary", global_step, walltime, metadata,
            dtype="DT_STRING", string_val=[text_string.encode()],
            tensor_shape={"dim": [{"size": 1}]},
        )  # fmt: skip

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = MAX_THRESHOLDS,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Counts of the predictions at or above each threshold, then precision and recall."""
        count = min(num_thresholds, MAX_THRESHOLDS)
        truth = np.asarray(labels).astype(np.float64).reshape(-1)
        weight = np.ones_like(truth) if weights is None else np.asarray(weights, np.float64)
        bucket = np.floor(np.asarray(predictions, np.float64).reshape(-1) * (count - 1)).astype(int)

        def above(chosen: np.ndarray) -> np.ndarray:
            return np.cumsum(np.bincount(bucket, chosen * weight, count)[::-1])[::-1]

        true, false = above(truth), above(1 - truth)
        rows = [true, false, false[0] - false, true[0] - true]
        rows += [true / np.maximum(true + false, 1e-7), true / max(true[0], 1e-7)]
        metadata = part("plugins.pr_curve.metadata").create_summary_metadata("", "", count)
        self._add_tensor(
            tag, global_step, walltime, metadata,
            dtype="DT_FLOAT", float_val=np.concatenate(rows).tolist(),
            tensor_shape={"dim": [{"size": len(rows)}, {"size": count}]},
        )  # fmt: skip

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        name: str | None = None,
        global_step: Any = None,
    ) -> None:
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        plugin = part("plugins.hparams.summary_v2")
        run = SummaryWriter(
            os.path.join(self.logdir, str(time.time()) if name is None else name),
            "", None, *self._options,
        )  # fmt: skip
        plain = {key: as_number(value) for key, value in hparam_dict.items()}
        metrics = {key: as_number(value) for key, value in metric_dict.items()}
        config = plugin.hparams_config_pb(map(plugin.HParam, plain), map(plugin.Metric, metrics))
        session = plugin.hparams_pb(plain, run.logdir)
        for summary in (config, session):
            made = self._protos["summary"].Summary.FromString(summary.SerializeToString())
            run._write(run.logdir, None, None, summary=made)
        data, done = part("plugins.hparams.plugin_data_pb2"), part("plugins.hparams.api_pb2").Status
        end = data.HParamsPluginData(session_end_info={"status": done.STATUS_SUCCESS})
        metadata = part("plugins.hparams.metadata")
        run._add(
            metadata.SESSION_END_INFO_TAG, None, None,
            metadata=metadata.create_summary_metadata(end),
        )  # fmt: skip
        for key, value in metrics.items():
            run.add_scalar(key, value, global_step)
        run.close()

    def flush(self) -> None:
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def __getattr__(self, name: str) -> Any:
        if name in ("add_video", "add_audio", "add_embedding"):
            raise NotImplementedError(f"SummaryWriter.{name} needs the package tensorboardX")
        raise AttributeError(f"'SummaryWriter' object has no attribute '{name}'")


def as_number(value: Any) -> Any:
    """What a 0-d or one-element array holds."""
    return value.item() if isinstance(value, np.ndarray | np.generic) else value
