"""The zip file that PyTorch writes: records stored as they are, each starting at a multiple of 64.

It neither compresses nor decompresses, and it writes strictly forwards, so any file that can be
written to will do. The layout follows PyTorch's byte for byte (its miniz writes a data descriptor
after every record that is not empty, and zip64 end records always), because PyTorch computes some
offsets instead of reading them.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import IO

Buffer = bytes | memoryview

ALIGNMENT = 64
_STORED = 0
_UTF8_NAME, _SIZES_FOLLOW, _ENCRYPTED = 0x800, 0x8, 0x1
_ZIP64_LIMIT = 0xFFFFFFFF  # 32-bit fields from here on say "look in the zip64 extra field"
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_CENTRAL_HEADER = struct.Struct("<4s6H3I5H2I")
_ZIP64_END = struct.Struct("<4sQ2H2I4Q")
_ZIP64_LOCATOR = struct.Struct("<4sIQI")
_END = struct.Struct("<4s4H2IH")


class ArchiveWriter:
    """Writes `archive/<name>` records to `file`; the archive is complete after `finish()`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._position = 0
        self._central: list[bytes] = []

    def record(self, name: str, data: Buffer) -> None:
        """Appends one record."""
        path = f"archive/{name}".encode()
        size, crc, offset = memoryview(data).nbytes, zlib.crc32(data), self._position
        flags = _UTF8_NAME | (_SIZES_FOLLOW if size else 0)
        zip64 = _zip64_field(size, offset)
        extra = zip64 + _padding_field(offset + _LOCAL_HEADER.size + len(path) + len(zip64))
        self._write(
            _LOCAL_HEADER.pack(b"PK\3\4", 0, flags, _STORED, 0, 0, 0, 0, 0, len(path), len(extra))
            + path
            + extra
        )
        if size:
            self._write(data)
            sizes = struct.pack("<QQ" if zip64 else "<II", size, size)
            self._write(struct.pack("<4sI", b"PK\7\x08", crc) + sizes)
        size32, offset32 = min(size, _ZIP64_LIMIT), min(offset, _ZIP64_LIMIT)
        fields = (0, 0, flags, _STORED, 0, 0, crc, size32, size32, len(path), len(zip64))
        header = _CENTRAL_HEADER.pack(b"PK\1\2", *fields, 0, 0, 0, 0, offset32)
        self._central.append(header + path + zip64)

    def finish(self) -> None:
        """Writes the directory."""
        start, count = self._position, len(self._central)
        for entry in self._central:
            self._write(entry)
        end = self._position
        size = end - start
        self._write(_ZIP64_END.pack(b"PK\6\6", 44, 0, 45, 0, 0, count, count, size, start))
        self._write(_ZIP64_LOCATOR.pack(b"PK\6\7", 0, end, 1))
        count16, size32 = min(count, 0xFFFF), min(size, _ZIP64_LIMIT)
        start32 = min(start, _ZIP64_LIMIT)
        self._write(_END.pack(b"PK\5\6", 0, 0, count16, count16, size32, start32, 0))

    def _write(self, data: Buffer) -> None:
        self._file.write(data)
        self._position += memoryview(data).nbytes


def _zip64_field(size: int, offset: int) -> bytes:
    values = [size, size] if size >= _ZIP64_LIMIT else []
    if offset >= _ZIP64_LIMIT:
        values.append(offset)
    return struct.pack(f"<HH{len(values)}Q", 1, 8 * len(values), *values) if values else b""


def _padding_field(field_start: int) -> bytes:
    """The extra field after which the data starts at a multiple of ALIGNMENT."""
    padding = -(field_start + 4) % ALIGNMENT
    return struct.pack("<2sH", b"FB", padding) + b"Z" * padding


class ArchiveReader:
    """Reads records of the archive that starts at `file`'s position and ends where `file` ends."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        start = file.tell()
        self._end = file.seek(0, io.SEEK_END)
        file.seek(start)
        try:
            self._entries = {entry.filename: entry for entry in zipfile.ZipFile(file).infolist()}
        except (zipfile.BadZipFile, struct.error, OSError, *_ODD_FIELDS) as error:
            raise _damage_error(str(error)) from error
        folder, slash, _ = next(iter(self._entries), "").partition("/")
        if not slash:
            raise _damage_error("its records are not in a folder, as those of `save` are")
        self._folder = folder
        # records may share bytes of the file: together they must not be more than the file
        if sum(entry.file_size for entry in self._entries.values()) > self._end - start:
            raise _damage_error("its records are larger than the file")

    def __contains__(self, name: str) -> bool:
        return f"{self._folder}/{name}" in self._entries

    def size(self, name: str) -> int:
        """The number of bytes that `read(name)` returns."""
        return self._entry(name).file_size

    def read(self, name: str) -> bytes:
        """The bytes of a record. Raises RuntimeError if it is missing, damaged or compressed."""
        entry = self._entry(name)
        if entry.compress_type != _STORED or entry.flag_bits & _ENCRYPTED:
            raise _damage_error(f"record {entry.filename!r} is compressed or encrypted")
        header = self._bytes(entry.header_offset, _LOCAL_HEADER.size, entry.filename)
        signature, *_, name_size, extra_size = _LOCAL_HEADER.unpack(header)
        if signature != b"PK\3\4" or entry.file_size != entry.compress_size:
            raise _damage_error(f"record {entry.filename!r} has a wrong header")
        start = entry.header_offset + _LOCAL_HEADER.size + name_size + extra_size
        data = self._bytes(start, entry.file_size, entry.filename)
        # 0 stands for "not computed": torch.serialization.set_crc32_options(False)
        if entry.CRC and zlib.crc32(data) != entry.CRC:
            raise _damage_error(f"record {entry.filename!r} has a wrong checksum")
        return data

    def _entry(self, name: str) -> zipfile.ZipInfo:
        path = f"{self._folder}/{name}"
        if path not in self._entries:
            raise _damage_error(f"it has no record {path!r}")
        return self._entries[path]

    def _bytes(self, start: int, size: int, name: str) -> bytes:
        if start < 0 or start + size > self._end:
            raise _damage_error(f"record {name!r} lies outside the file")
        self._file.seek(start)
        data = self._file.read(size)
        while len(data) < size:  # an unbuffered file may return less than it was asked for
            more = self._file.read(size - len(data))
            if not more:
                raise _damage_error(f"record {name!r} is cut off")
            data += more
        return data


# what zipfile raises, besides BadZipFile, for fields that make no sense
_ODD_FIELDS = (ValueError, IndexError, OverflowError, EOFError, NotImplementedError)


def _damage_error(reason: str) -> RuntimeError:
    return RuntimeError(
        f"[load] failed reading zip archive: {reason}. The file is probably corrupt: it may have "
        "been written or downloaded in part, or changed since"
    )
