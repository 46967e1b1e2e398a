"""`torch.hub`: models of folders with a hubconf.py, and files of parameters by their address.

Repositories on GitHub are not fetched: what they publish is written for PyTorch itself.
https://pytorch.org/docs/stable/hub.html
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlparse
from urllib.request import urlopen

from tiny_torch.exchange.serialization import load as load_file

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # resnet18-bfd8deac.pth
folder: str | None = None


def get_dir() -> str:
    """The folder of downloads: `set_dir`'s, $TORCH_HOME/hub, or ~/.cache/torch/hub."""
    if folder is not None:
        return folder
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str | os.PathLike) -> None:
    """Sets the folder of downloads."""
    global folder
    folder = os.path.expanduser(d)


def entries(repo: str, source: str) -> ModuleType:
    """The module hubconf.py of a folder; NotImplementedError for a repository on GitHub."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise NotImplementedError(
            f"torch.hub: source 'github' of {repo} is not in tiny_torch; with source='local' the "
            "folder of a clone works"
        )
    path = Path(repo) / "hubconf.py"
    if not path.exists():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    spec = importlib.util.spec_from_file_location("hubconf", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(repo))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(repo))
    missing = [n for n in getattr(module, "dependencies", ()) if not importlib.util.find_spec(n)]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def entry(repo: str, model: str, source: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    function = getattr(entries(repo, source), model, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return function


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What the function `model` of a folder's hubconf.py answers to the further arguments.

    With source="local"; the four arguments after it are about GitHub, from which nothing is
    fetched: NotImplementedError. FileNotFoundError without a hubconf.py, RuntimeError without the
    function or a package of the file's `dependencies`.
    https://pytorch.org/docs/stable/hub.html#torch.hub.load
    """
    return entry(repo_or_dir, model, source)(*args, **kwargs)


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
    verbose: bool = True,
) -> Any:
    """Raises NotImplementedError, as it lists a repository on GitHub."""
    return entries(github, "github")


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = "check",
) -> Any:
    """Raises NotImplementedError, as it asks a repository on GitHub."""
    return entries(github, "github")


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Writes what is at an address to a file, whole or not at all; no bar is drawn of progress.

    Raises RuntimeError where its SHA-256 does not begin with `hash_prefix`.
    https://pytorch.org/docs/stable/hub.html#torch.hub.download_url_to_file
    """
    path = Path(dst).expanduser()
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            with urlopen(url) as answer:
                shutil.copyfileobj(answer, file)
            file.flush()
            digest = hashlib.sha256(Path(file.name).read_bytes()).hexdigest()
            if not digest.startswith(hash_prefix or ""):
                raise RuntimeError(
                    f'invalid hash value (expected "{hash_prefix}", got "{digest}") at {url}'
                )
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """`torch.load` of the file at an address, which is kept in `model_dir` for the next time.

    `check_hash`: RuntimeError unless the SHA-256 begins as the name says (name-<hash>.pth).
    https://pytorch.org/docs/stable/hub.html#torch.hub.load_state_dict_from_url
    """
    model_dir = model_dir or os.path.join(get_dir(), "checkpoints")
    os.makedirs(model_dir, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(model_dir, name)
    if not os.path.exists(path):
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found[1] if found else None, progress)
    return load_file(path, map_location=map_location, weights_only=weights_only)


__all__ = [
    "download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url",
    "set_dir",
]  # fmt: skip
