"""Small files in the formats of the datasets, and a server of files."""

import contextlib
import gzip
import hashlib
import io
import pickle
import re
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np


def idx(array):
    """The bytes of an IDX file."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def digits(count, seed=0):
    """(images, labels) in MNIST's shapes."""
    draw = np.random.default_rng(seed)
    return draw.integers(0, 256, (count, 28, 28), "uint8"), np.arange(count, dtype="uint8") % 10


def mnist_files(train=5, test=3):
    """The packed files of a small MNIST, by name."""
    files = {}
    for part, count in [("train", train), ("t10k", test)]:
        images, labels = digits(count)
        files[f"{part}-images-idx3-ubyte.gz"] = gzip.compress(idx(images))
        files[f"{part}-labels-idx1-ubyte.gz"] = gzip.compress(idx(labels))
    return files


def write(folder, files):
    """Writes files, unpacked where `.gz` is not in their name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def python2_pickle(images, labels, key):
    """A batch as Python 2 wrote it: protocol 2, strings for text and for bytes."""

    def text(value):
        return b"U" + bytes([len(value)]) + value

    def long(value):
        return b"T" + len(value).to_bytes(4, "little") + value

    def number(value):
        return b"J" + value.to_bytes(4, "little", signed=True)

    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00t" + text(b"b") + b"tR"
        b"(K\x01(" + b"".join(map(number, images.shape)) + b"tcnumpy\ndtype\n("
        + text(b"u1") + b"K\x00K\x01tR(K\x03" + text(b"|") + b"NNN" + 2 * b"J\xff\xff\xff\xff"
        + b"K\x00tb\x89" + long(images.tobytes()) + b"tb"
    )  # fmt: skip
    items = b"](" + b"".join(map(number, labels)) + b"e"
    return b"\x80\x02}(" + text(b"data") + array + text(key) + items + b"u."


def cifar_files(name="cifar10", count=4):
    """The files of a small CIFAR, by name, without their folder."""
    draw = np.random.default_rng(1)

    def batch(key):
        images = draw.integers(0, 256, (count, 3072), "uint8")
        return python2_pickle(images, list(range(count)), key)

    if name == "cifar10":
        batches = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
        names = {"label_names": [f"class {i}" for i in range(10)]}
        files = {batch_name: batch(b"labels") for batch_name in batches}
        return {**files, "batches.meta": pickle.dumps(names, protocol=2)}
    names = {"fine_label_names": [f"class {i}" for i in range(100)]}
    files = {batch_name: batch(b"fine_labels") for batch_name in ["train", "test"]}
    return {**files, "meta": pickle.dumps(names, protocol=2)}


def tar(files):
    """A `.tar.gz` of files, or of the TarInfo and bytes given for a name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in files.items():
            info, content = data if isinstance(data, tuple) else (tarfile.TarInfo(name), data)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def md5(data):
    return hashlib.md5(data).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.asked.append((self.path, self.headers.get("Range")))
        mirror, _, name = self.path[1:].rpartition("/")
        answer = server.mirrors.get(mirror, {}).get(name)
        if answer is None:
            self.send_error(404)
            return
        begin = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(begin[1]) if begin and mirror != "whole" else 0
        if start >= len(answer) > 0:
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(answer) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(answer) - 1}/{len(answer)}")
        self.end_headers()
        part = answer[start:]
        self.wfile.write(part[: server.most] if server.most else part)

    def log_message(self, *_):
        """Nothing: pytest would show it."""


@contextlib.contextmanager
def serving(**mirrors):
    """A server of {mirror: {name: bytes}}; it notes what it is asked.

    The mirror `whole` knows no ranges; where `most` is set, a connection ends behind so many bytes.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.mirrors, server.asked, server.most = mirrors, [], None
    server.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
