"""Downloads from a server in this process: mirrors, halves, checksums, and no network."""

import os

import pytest
from image_files import cifar_files, md5, mnist_files, serving, tar
from tiny_torch.datasets import download

from tiny_torch import datasets

DATA = bytes(range(256)) * 40


def small_mnist(server, *mirrors):
    files = server.mirrors["good"]

    class MNIST(datasets.MNIST):
        pass

    MNIST.mirrors = [f"{server.url}{mirror}/" for mirror in mirrors]
    MNIST.resources = [(name, md5(data)) for name, data in files.items()]
    return MNIST


def test_mnist_is_fetched_once(tmp_path):
    with serving(good=mnist_files()) as server:
        mnist = small_mnist(server, "absent", "good")
        assert len(mnist(tmp_path, download=True)) == 5
        assert len(server.asked) == 8  # each from a mirror without it, then from the next
        assert len(mnist(tmp_path, train=False, download=True)) == 3
        assert len(server.asked) == 8
    unpacked = sorted(name for name in os.listdir(tmp_path / "MNIST/raw") if "." not in name)
    assert unpacked == sorted(name.removesuffix(".gz") for name, _ in mnist.resources)
    assert not list(tmp_path.rglob("*.part"))


def test_without_a_network_the_files_are_named(tmp_path):
    with serving(good=mnist_files()) as server:
        mnist = small_mnist(server, "good")
    with pytest.raises(RuntimeError) as error:  # nobody listens any more
        mnist(tmp_path, download=True)
    text = str(error.value)
    assert "train-images-idx3-ubyte.gz could not be downloaded:\n  http://127.0.0.1" in text
    assert "refused" in text and str(tmp_path / "MNIST/raw") in text
    assert all(name in text.splitlines()[-1] for name, _ in mnist.resources)


def test_cifar_is_fetched_and_unpacked(tmp_path):
    files = cifar_files("cifar100")
    archive = tar({f"cifar-100-python/{name}": data for name, data in files.items()})
    with serving(good={"cifar-100-python.tar.gz": archive}) as server:

        class Small(datasets.CIFAR100):
            url = f"{server.url}good/cifar-100-python.tar.gz"
            tgz_md5 = md5(archive)
            train_list, test_list = [("train", md5(files["train"]))], [("test", md5(files["test"]))]
            meta = datasets.CIFAR100.meta._replace(md5=md5(files["meta"]))

        assert len(Small(tmp_path, download=True)) == 4
        assert len(Small(tmp_path, download=True)) == 4 and len(server.asked) == 1


def test_ptb_is_fetched(tmp_path):
    text = b" a b a \n"
    with serving(good={f"ptb.{part}.txt": text for part in ("train", "valid", "test")}) as server:

        class Small(datasets.PTB):
            mirrors = [f"{server.url}good/"]
            resources = {
                key: (name, md5(text)) for key, (name, _) in datasets.PTB.resources.items()
            }

        assert Small(tmp_path, "test", length=2, download=True).data.tolist() == [0, 2, 0, 1]


@pytest.mark.parametrize("mirror", ["good", "whole"])
def test_half_a_file_is_continued(tmp_path, mirror):
    path = tmp_path / "x"
    (tmp_path / "x.part").write_bytes(DATA[:1000])
    with serving(**{mirror: {"x": DATA}}) as server:
        download.fetch([f"{server.url}{mirror}/x"], str(path), md5(DATA))
        assert server.asked == [(f"/{mirror}/x", "bytes=1000-")]
    assert path.read_bytes() == DATA and os.listdir(tmp_path) == ["x"]


def test_half_of_another_file_is_thrown_away(tmp_path):
    for half in [b"other" * 10, b"longer" * 9999, DATA + b"x"]:
        (tmp_path / "x.part").write_bytes(half)
        with serving(good={"x": DATA}) as server:
            download.fetch([f"{server.url}good/x"], str(tmp_path / "x"), md5(DATA))
        assert (tmp_path / "x").read_bytes() == DATA
        os.remove(tmp_path / "x")


def test_a_whole_part_needs_no_more(tmp_path):
    (tmp_path / "x.part").write_bytes(DATA)
    with serving(good={"x": DATA}) as server:
        download.fetch([f"{server.url}good/x"], str(tmp_path / "x"), md5(DATA))
    assert (tmp_path / "x").read_bytes() == DATA


def test_a_connection_that_ends_early_is_taken_up_again(tmp_path):
    with serving(good={"x": DATA}) as server:
        server.most = 3000
        download.fetch([f"{server.url}good/x"], str(tmp_path / "x"), md5(DATA))
        assert [begin for _, begin in server.asked] == [
            None, "bytes=3000-", "bytes=6000-", "bytes=9000-",
        ]  # fmt: skip
    assert (tmp_path / "x").read_bytes() == DATA


def test_a_connection_that_always_ends_early_leaves_its_part(tmp_path):
    with serving(good={"x": DATA}) as server:
        server.most = 100
        with pytest.raises(RuntimeError, match="the connection ended after 500 bytes"):
            download.fetch([f"{server.url}good/x"], str(tmp_path / "x"), md5(DATA))
    assert (tmp_path / "x.part").read_bytes() == DATA[:500]


def test_a_wrong_checksum_leads_to_the_next_mirror(tmp_path):
    with serving(bad={"x": b"<html>"}, good={"x": DATA}) as server:
        urls = [f"{server.url}{mirror}/x" for mirror in ("bad", "good")]
        download.fetch(urls, str(tmp_path / "x"), md5(DATA))
        assert (tmp_path / "x").read_bytes() == DATA
        with pytest.raises(RuntimeError, match=rf"bad/x: its checksum is {md5(b'<html>')}"):
            download.fetch(urls[:1], str(tmp_path / "y"), md5(DATA))
    assert os.listdir(tmp_path) == ["x"]


def test_a_file_that_is_damaged_here_is_fetched_again(tmp_path):
    (tmp_path / "x").write_bytes(b"old")
    with serving(good={"x": DATA}) as server:
        download.fetch([f"{server.url}good/x"], str(tmp_path / "x"), md5(DATA))
    assert (tmp_path / "x").read_bytes() == DATA


def test_an_answer_without_end_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "MOST_BYTES", 5000)
    with serving(good={"x": DATA}) as server, pytest.raises(RuntimeError, match="more than 5000"):
        download.fetch([f"{server.url}good/x"], str(tmp_path / "x"), md5(DATA))
