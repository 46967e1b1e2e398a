"""Datasets from files in the originals' formats: what they hold, and damaged files."""

import gzip
import pickle
import tarfile

import numpy as np
import pytest
from image_files import cifar_files, digits, idx, md5, mnist_files, python2_pickle, tar, write
from tiny_torch.datasets import download, numpy_pickle
from tiny_torch.datasets.idx import read_idx

import tiny_torch as torch
from tiny_torch import datasets
from tiny_torch.utils.data import DataLoader


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("name", ["MNIST", "FashionMNIST", "KMNIST"])
def test_mnist_files_packed_and_unpacked(tmp_path, name, packed):
    pytest.importorskip("PIL")
    files = mnist_files()
    if not packed:
        files = {key.removesuffix(".gz"): gzip.decompress(data) for key, data in files.items()}
    write(tmp_path / name / "raw", files)
    dataset = getattr(datasets, name)(tmp_path, train=False)
    images, labels = digits(3)
    assert dataset.data.dtype == torch.uint8 and np.array_equal(dataset.data.numpy(), images)
    assert dataset.targets.dtype == torch.int64 and dataset.targets.tolist() == labels.tolist()
    image, target = dataset[1]
    assert (image.mode, image.size, target, type(target)) == ("L", (28, 28), 1, int)
    assert np.array_equal(np.asarray(image), images[1])
    assert dataset.class_to_idx[dataset.classes[7]] == 7
    assert len(getattr(datasets, name)(tmp_path)) == 5


def test_mnist_repr_and_transforms_are_torchvisions(tmp_path):
    pytest.importorskip("PIL")
    write(tmp_path / "MNIST/raw", mnist_files())
    dataset = datasets.MNIST(str(tmp_path), transform=np.asarray, target_transform=float)
    image, target = dataset[2]
    assert image.shape == (28, 28) and (target, type(target)) == (2.0, float)
    assert repr(dataset) == (
        f"Dataset MNIST\n    Number of datapoints: 5\n    Root location: {tmp_path}\n"
        f"    Split: Train\n    StandardTransform\n    Transform: {np.asarray!r}\n"
        "    Target transform: <class 'float'>"
    )
    dataset.transform = None  # is asked for at each item
    assert dataset[0][0].mode == "L"
    with pytest.raises(ValueError, match="Only transforms or transform/target_transform"):
        datasets.VisionDataset(transforms=max, transform=abs)


IMAGES, LABELS = idx(digits(2)[0]), idx(digits(2)[1])


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "ends 4 bytes short"),
        (b"\x1f\x8b\x08\x00" + IMAGES[4:], "begins with 1f 8b 08 00, not with 00 00 08 03"),
        (b"\x00\x00\x0d\x03" + IMAGES[4:], "begins with 00 00 0d 03"),
        (IMAGES[:10], "ends 6 bytes short"),
        (IMAGES[:-1], "ends 1 bytes short"),
        (IMAGES + b"\x00", "more than the 1568 bytes"),
        (IMAGES[:8] + IMAGES[8:12] + b"\0\0\0\x1d" + IMAGES[16:], r"shape \(28, 29\), expected"),
        (IMAGES[:4] + b"\xff\xff\xff\xff" + IMAGES[8:], "at most 1073741824 are read"),
        (IMAGES[:4] + b"\x00\x10\x00\x00" + IMAGES[8:], "ends 822082016 bytes short"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_damaged_idx_files(tmp_path, data, message, packed):
    path = tmp_path / ("images.gz" if packed else "images")
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(RuntimeError, match=f"{path}: .*{message}"):
        read_idx(str(path), (28, 28))


def test_damaged_gzip_files(tmp_path):
    path = tmp_path / "images.gz"
    packed = gzip.compress(IMAGES)
    for data in [IMAGES, packed[:-3], packed[:40], packed[:30] + b"\xff" + packed[31:]]:
        path.write_bytes(data)
        with pytest.raises(RuntimeError, match=str(path)):
            read_idx(str(path), (28, 28))
        with pytest.raises(RuntimeError, match=str(path)):
            download.unpack(str(path))
    assert [entry.name for entry in tmp_path.iterdir()] == ["images.gz"]


def test_a_packed_file_that_holds_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "MOST_BYTES", 10**6)
    bomb = tmp_path / "images.gz"
    bomb.write_bytes(gzip.compress(bytes(2 * 10**6)))
    with pytest.raises(RuntimeError, match=f"{bomb}: holds more than 1000000 bytes"):
        download.unpack(str(bomb))
    assert not (tmp_path / "images").exists()
    archive = tmp_path / "images.tar.gz"
    archive.write_bytes(tar({"zeros": bytes(2 * 10**6)}))
    with pytest.raises(RuntimeError, match=f"{archive}: holds more than 1000000 bytes"):
        download.extract(str(archive), str(tmp_path))


def test_mnist_files_that_disagree(tmp_path):
    folder = tmp_path / "MNIST/raw"
    write(folder, {**mnist_files(), "train-labels-idx1-ubyte": idx(digits(4)[1])})
    with pytest.raises(RuntimeError, match=r"has 5 images, .* 4 labels"):
        datasets.MNIST(tmp_path)
    write(folder, {"train-labels-idx1-ubyte": idx(np.full(5, 11, "uint8"))})
    with pytest.raises(RuntimeError, match="label 11, but 10 classes"):
        datasets.MNIST(tmp_path)


# ---- CIFAR -----------------------------------------------------------------------------------


def small_cifar(name="cifar10", files=None):
    """A subclass that knows the checksums of its small files, and those files."""
    files = files or cifar_files(name)
    base = {"cifar10": datasets.CIFAR10, "cifar100": datasets.CIFAR100}[name]
    archive = tar({f"{base.base_folder}/{key}": data for key, data in files.items()})

    class Small(base):
        train_list = [(key, md5(files[key])) for key, _ in base.train_list]
        test_list = [(key, md5(files[key])) for key, _ in base.test_list]
        meta = base.meta._replace(md5=md5(files[base.meta.filename]))
        tgz_md5 = md5(archive)

    return Small, files, archive


@pytest.mark.parametrize("name, train", [("cifar10", 20), ("cifar100", 4)])
def test_cifar_reads_what_python_2_wrote(tmp_path, name, train):
    pytest.importorskip("PIL")
    small, files, _ = small_cifar(name)
    write(tmp_path / small.base_folder, files)
    dataset = small(tmp_path)
    assert dataset.data.shape == (train, 32, 32, 3) and dataset.data.dtype == np.uint8
    first = pickle.loads(files[small.train_list[0][0]], encoding="latin1")["data"][0]
    assert np.array_equal(dataset.data[0].transpose(2, 0, 1).ravel(), first)
    assert dataset.targets == [0, 1, 2, 3] * (train // 4)
    image, target = dataset[3]
    assert (image.mode, image.size, target) == ("RGB", (32, 32), 3)
    assert dataset.class_to_idx["class 9"] == 9 and "Split: Test" in repr(small(tmp_path, False))


def test_cifar_unpacks_an_archive_that_lies_there(tmp_path):
    small, _, archive = small_cifar()
    (tmp_path / small.filename).write_bytes(archive)
    assert len(small(tmp_path, train=False)) == 4
    assert (tmp_path / small.base_folder / "test_batch").is_file()


def test_cifar_files_of_another_checksum_are_refused(tmp_path):
    small, files, _ = small_cifar()
    write(tmp_path / small.base_folder, {**files, "test_batch": files["test_batch"][:-1]})
    with pytest.raises(RuntimeError, match="not found or corrupted"):
        small(tmp_path)


BATCH = np.zeros((2, 3072), "uint8")


@pytest.mark.parametrize(
    "entry, message",
    [
        ({"data": BATCH[:, :5], "labels": [0, 1]}, "no array of rows of 3072 bytes"),
        ({"data": [1], "labels": [0, 1]}, "no array of rows"),
        ({"data": BATCH, "labels": [0]}, "2 images, but 1 labels"),
        ({"data": BATCH, "labels": [0, "1"]}, "no list of ints"),
        ({"data": BATCH}, "no list of ints"),
        ({"data": BATCH, "labels": [0, 10]}, "10 names, but other labels"),
        ([BATCH], "holds no dict"),
    ],
)
def test_cifar_batches_of_another_form(tmp_path, entry, message):
    files = {**cifar_files(), "test_batch": pickle.dumps(entry, protocol=2)}
    small, files, _ = small_cifar(files=files)
    write(tmp_path / small.base_folder, files)
    with pytest.raises(RuntimeError, match=message):
        small(tmp_path, train=False)


class Evil:
    def __reduce__(self):
        return print, ("run",)


NAMES_OF_OTHERS = [
    pickle.dumps(Evil(), protocol=2),
    pickle.dumps({"data": Evil()}, protocol=4),
    pickle.dumps({"data": np.zeros(2, "float64")}, protocol=2),
    pickle.dumps({"data": np.array([Evil()])}, protocol=2),
    b"\x80\x02cos\nsystem\n(U\x04truetR.",
    b"\x80\x02cnumpy\nndarray\n(K\x09tR.",
    python2_pickle(BATCH, [0, 1], b"labels")[:-40],
    python2_pickle(BATCH, [0, 1], b"labels").replace(b"J\x02\0\0\0", b"J\x03\0\0\0"),
    python2_pickle(BATCH, [0, 1], b"labels").replace(b"J\x02\0\0\0", b"J\xff\xff\xff\xff"),
    python2_pickle(BATCH, [0, 1], b"labels").replace(b"u1", b"O8"),
    b"\x80\x02T\xff\xff\xff\xff.",
    b"\x80\x02cnumpy\nndarray\nK\x01\x85\x81.",
    b"\x80\x02}K\x01cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n\x85Rs.",
    b"\x80\x02]r\xff\xff\xff\xff.",
]


@pytest.mark.parametrize("data", NAMES_OF_OTHERS)
def test_pickles_that_hold_anything_else_are_refused(tmp_path, capsys, data):
    path = tmp_path / "batch"
    path.write_bytes(data)
    with pytest.raises(RuntimeError, match=f"{path}: "):
        numpy_pickle.load_arrays(str(path))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_of_python_3(tmp_path, protocol):
    path = tmp_path / "batch"
    array = np.asfortranarray(np.arange(12, dtype="uint8").reshape(3, 4))
    path.write_bytes(pickle.dumps({"data": array, "n": [1, "é"]}, protocol=protocol))
    if protocol == 5:  # NumPy's own names for buffers, which CIFAR's files do not have
        with pytest.raises(RuntimeError, match="_frombuffer"):
            numpy_pickle.load_arrays(str(path))
        return
    read = numpy_pickle.load_arrays(str(path))
    assert np.array_equal(read["data"], array) and read["n"] == [1, "é"]


def link(name, target, kind):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


@pytest.mark.parametrize(
    "files, message",
    [
        ({"../out": b"x"}, "'../out' leads out of the folder"),
        ({"a/../../out": b"x"}, "leads out"),
        ({"/tmp/out": b"x"}, "leads out"),
        ({"link": link("link", "/tmp", tarfile.SYMTYPE)}, "'link' is neither a file nor a folder"),
        ({"link": link("link", "x", tarfile.LNKTYPE)}, "neither a file"),
        ({"pipe": link("pipe", "", tarfile.FIFOTYPE)}, "neither a file"),
    ],
)
def test_archives_that_lead_out_are_refused(tmp_path, files, message):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(tar(files))
    (tmp_path / "in").mkdir()
    with pytest.raises(RuntimeError, match=f"{path}: .*{message}"):
        download.extract(str(path), str(tmp_path / "in"))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.tar.gz", "in"]


def test_damaged_archives(tmp_path):
    path = tmp_path / "a.tar.gz"
    whole = tar({"a/b": bytes(range(256)) * 50})
    for data in [b"", b"no archive", whole[:60], whole[:-8], gzip.compress(b"x" * 600)]:
        path.write_bytes(data)
        with pytest.raises(RuntimeError, match=str(path)):
            download.extract(str(path), str(tmp_path))


def test_a_link_that_was_there_before_is_not_followed(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in/a").symlink_to(tmp_path / "out")
    path = tmp_path / "a.tar.gz"
    path.write_bytes(tar({"a/b": b"x"}))
    with pytest.raises(RuntimeError, match="'a/b' leads out"):
        download.extract(str(path), str(tmp_path / "in"))
    assert list((tmp_path / "out").iterdir()) == []


# ---- digits, folders -------------------------------------------------------------------------


def test_digits_are_split_once_for_all():
    sklearn = pytest.importorskip("sklearn.datasets").load_digits()
    torch.manual_seed(5)
    train, test = datasets.Digits(), datasets.Digits(train=False)
    assert (len(train), len(test)) == (1437, 360)
    assert torch.equal(train.data, datasets.Digits().data)
    rows = {bytes(image) for image in sklearn.images.astype("uint8")}
    assert {bytes(image.numpy()) for data in (train.data, test.data) for image in data} == rows
    image, target = train[0]
    assert image.dtype == torch.float32 and image.shape == (1, 8, 8) and type(target) is int
    assert torch.equal(image[0] * 16, train.data[0].float())
    where = np.flatnonzero((sklearn.images == train.data[0].numpy()).all((1, 2)))
    assert sklearn.target[where].tolist() == [target]
    batch, targets = next(iter(DataLoader(train, batch_size=3)))
    assert batch.shape == (3, 1, 8, 8) and targets.dtype == torch.int64


def test_image_folder(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for name in ["dog/b.png", "cat/2/a.PNG", "cat/1.bmp", "cat/note.txt"]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        image.new("L", (3, 2), 200).save(path) if path.suffix != ".txt" else path.write_text("")
    (tmp_path / "cat/loop").symlink_to(tmp_path / "cat")
    dataset = datasets.ImageFolder(str(tmp_path))
    names = [(path.removeprefix(f"{tmp_path}/"), label) for path, label in dataset.imgs]
    assert names == [("cat/1.bmp", 0), ("cat/2/a.PNG", 0), ("dog/b.png", 1)]
    assert dataset.targets == [0, 0, 1] and dataset.class_to_idx == {"cat": 0, "dog": 1}
    assert (dataset[2][0].mode, dataset[2][0].getpixel((0, 0))) == ("RGB", (200, 200, 200))
    assert len(datasets.ImageFolder(tmp_path, is_valid_file=lambda p: "." in p)) == 4
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"classes empty\. Supported extensions are: .jpg"):
        datasets.ImageFolder(tmp_path)
    assert datasets.ImageFolder(tmp_path, allow_empty=True).classes == ["cat", "dog", "empty"]
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder"):
        datasets.ImageFolder(tmp_path / "dog")


# ---- faces -----------------------------------------------------------------------------------

FACES = ("000001.jpg", "000002.jpg", "000003.jpg")
CELEBA = {
    "list_attr_celeba.txt": "3\nBald Young \n"
    "000001.jpg -1  1\n000002.jpg  1 -1\n000003.jpg  1  1\n",
    "identity_CelebA.txt": "000001.jpg 7\n000002.jpg 9\n000003.jpg 7\n",
    "list_bbox_celeba.txt": "3\nimage_id x_1 y_1 width height\n"
    + "".join(f"{name} {i} 2 3  {4 * i}\n" for i, name in enumerate(FACES)),
    "list_landmarks_align_celeba.txt": f"3\n{' '.join(map(str, range(10)))}\n"
    + "".join(
        f"{name} {' '.join(str(i + k) for k in range(10))}\n" for i, name in enumerate(FACES)
    ),
    "list_eval_partition.txt": "000001.jpg 0\n000002.jpg 2\n000003.jpg 0\n",
}


def test_celeba(tmp_path):
    image = pytest.importorskip("PIL.Image")
    write(tmp_path / "celeba", {name: text.encode() for name, text in CELEBA.items()})
    with pytest.raises(RuntimeError, match=r"not found or corrupted: .* lacks img_align"):
        datasets.CelebA(tmp_path)
    with pytest.raises(NotImplementedError, match=r"CelebA\(download=True\): .*mmlab"):
        datasets.CelebA(tmp_path, download=True)
    (tmp_path / "celeba/img_align_celeba").mkdir()
    for i, name in enumerate(FACES):
        image.new("RGB", (2, 3), (i, i, i)).save(tmp_path / "celeba/img_align_celeba" / name)
    train = datasets.CelebA(str(tmp_path), download=True)
    assert len(train) == 2 and train.filename == ["000001.jpg", "000003.jpg"]
    assert train.attr.tolist() == [[0, 1], [1, 1]] and train.attr_names == ["Bald", "Young"]
    picture, target = train[1]
    assert picture.size == (2, 3) and target.tolist() == [1, 1] and target.dtype == torch.int64
    kinds = ["identity", "bbox", "landmarks", "attr"]
    everything = datasets.CelebA(tmp_path, "all", kinds, target_transform=list)
    _, (person, box, points, attributes) = everything[1]
    assert (person.item(), box.tolist(), attributes.tolist()) == (9, [1, 2, 3, 4], [1, 0])
    assert points.tolist() == list(range(1, 11))
    assert "Target type: ['identity', 'bbox', 'landmarks', 'attr']\n    Split: all" in repr(
        everything
    )
    assert datasets.CelebA(tmp_path, "test", [])[0][1] is None
    assert len(datasets.CelebA(tmp_path, "valid")) == 0
    with pytest.raises(
        RuntimeError, match="target_transform is specified but target_type is empty"
    ):
        datasets.CelebA(tmp_path, target_type=[], target_transform=list)
    with pytest.raises(ValueError, match="Unknown value 'x' for argument split"):
        datasets.CelebA(tmp_path, "x")
    with pytest.raises(ValueError, match="Unknown value 'x' for argument target_type"):
        datasets.CelebA(tmp_path, target_type="x")[0]
    for name, text in (
        ("identity_CelebA.txt", "000001.jpg 7\n"),
        ("identity_CelebA.txt", CELEBA["identity_CelebA.txt"].replace("9", "9 9")),
        ("list_bbox_celeba.txt", CELEBA["list_bbox_celeba.txt"].replace("2", "two")),
        ("list_eval_partition.txt", CELEBA["list_eval_partition.txt"].replace("000002", "../2")),
    ):
        write(
            tmp_path / "celeba", {**{n: t.encode() for n, t in CELEBA.items()}, name: text.encode()}
        )
        with pytest.raises(RuntimeError, match="celeba"):
            datasets.CelebA(tmp_path)


# ---- text ------------------------------------------------------------------------------------


def test_text_of_characters(tmp_path):
    path = tmp_path / "text"
    path.write_text("abba cab\n")
    text = datasets.TextFile(path, length=4)
    assert text.vocabulary.tokens == ["a", "b", "\n", " ", "c"] and text.data.dtype == torch.int64
    assert text.data.tolist() == [0, 1, 1, 0, 3, 4, 0, 1, 2] and len(text) == 2
    assert [part.tolist() for part in text[1]] == [[3, 4, 0, 1], [4, 0, 1, 2]]
    assert torch.equal(text[-1][0], text[1][0]) and text.decode(text.encode("cab")) == "cab"
    with pytest.raises(IndexError, match="window 2 of 2"):
        text[2]
    with pytest.raises(ValueError, match="'z' is not in the vocabulary"):
        text.encode("z")
    assert len(list(DataLoader(text, batch_size=2))) == 1


def test_text_of_words(tmp_path):
    path = tmp_path / "text"
    path.write_text("the cat\n the  <unk> end")
    text = datasets.TextFile(path, length=2, level="word")
    assert text.vocabulary.tokens == ["the", "<eos>", "<unk>", "cat", "end"]
    assert text.data.tolist() == [0, 3, 1, 0, 2, 4]
    assert text.encode("the dog\n").tolist() == [0, 2, 1]
    assert text.decode([0, 3]) == "the cat" and "6 tokens, 5 distinct" in repr(text)


def test_text_that_is_refused(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"abc\xff")
    with pytest.raises(ValueError, match=f"{path} is not UTF-8"):
        datasets.TextFile(path)
    path.write_text("abc")
    with pytest.raises(ValueError, match="has 3 tokens"):
        datasets.TextFile(path, length=3)
    for length in (0, 2.5):
        with pytest.raises(ValueError, match=f"length must be an int of at least 1, got {length}"):
            datasets.TextFile(path, length=length)
    with pytest.raises(ValueError, match="level must be 'character' or 'word', got 'line'"):
        datasets.TextFile(path, length=1, level="line")


def test_ptb_has_one_vocabulary(tmp_path):
    write(tmp_path / "PTB", {
        "ptb.train.txt": b" no it was n't <unk> \n it was \n",
        "ptb.valid.txt": b" it is n't \n",
    })  # fmt: skip
    train, valid = [datasets.PTB(tmp_path, split, length=2) for split in ("train", "valid")]
    assert train.vocabulary.tokens == valid.vocabulary.tokens
    assert valid.decode(valid.data) == "it <unk> n't <eos>"
    with pytest.raises(RuntimeError, match=r"put ptb\.train\.txt, ptb\.test\.txt into"):
        datasets.PTB(tmp_path, "test")
    with pytest.raises(ValueError, match="split must be 'train', 'valid' or 'test', got 'dev'"):
        datasets.PTB(tmp_path, "dev")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("train_data", "data"),
        ("test_data", "data"),
        ("train_labels", "targets"),
        ("test_labels", "targets"),
    ],
)
def test_former_names_of_mnist_warn(tmp_path, old, new):
    write(tmp_path / "KMNIST/raw", mnist_files())
    dataset = datasets.KMNIST(tmp_path)
    with pytest.warns(UserWarning, match=f"^{old} has been renamed {new}$"):
        assert getattr(dataset, old) is getattr(dataset, new)
