"""Zip archives in which one member is replaced and all else stays, byte for byte."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

from regularize.errors import ReadError

LOCAL = struct.Struct("<4s5H3I2H")
CENTRAL = struct.Struct("<4s6H3I5H2I")
END = struct.Struct("<4s4H2IH")
#: Flag of an entry whose sizes stand behind its data.
SIZES_BEHIND = 0x08


def member_of(data: bytes, name: str, path: str) -> bytes:
    """The content of a member; ``path`` names the archive in errors."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(name)
    except (KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise ReadError(path, f"member {name} cannot be read ({error})") from error


def with_member(data: bytes, name: str, content: bytes, path: str) -> bytes:
    """The archive with another content of one member.

    Names, dates, attributes, comments and order stay, and so does every other member as it is
    compressed.

    Raises:
        ReadError: The archive is of the large kind (zip64), or damaged.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        info, start = archive.getinfo(name), archive.start_dir
    at = info.header_offset
    fields = list(LOCAL.unpack_from(data, at))
    body = at + LOCAL.size + fields[9] + fields[10]
    stop = body + info.compress_size
    if fields[2] & SIZES_BEHIND:
        stop += 16 if data[stop : stop + 4] == b"PK\x07\x08" else 12
    packed = _packed(content, info.compress_type)
    fields[2] &= ~SIZES_BEHIND
    fields[6:9] = zlib.crc32(content), len(packed), len(content)
    record = LOCAL.pack(*fields) + data[at + LOCAL.size : body] + packed
    shift = len(record) - (stop - at)
    directory, position = bytearray(), start
    while data[position : position + 4] == b"PK\x01\x02":
        entry = list(CENTRAL.unpack_from(data, position))
        size = CENTRAL.size + sum(entry[10:13])
        if entry[16] > at:
            entry[16] += shift
        elif entry[16] == at:
            entry[3] &= ~SIZES_BEHIND
            entry[7:10] = zlib.crc32(content), len(packed), len(content)
        directory += CENTRAL.pack(*entry) + data[position + CENTRAL.size : position + size]
        position += size
    if data[position : position + 4] != b"PK\x05\x06":
        raise ReadError(path, "is an archive of more than 4 GB (zip64), which is not edited")
    end = list(END.unpack_from(data, position))
    end[6] += shift
    tail = END.pack(*end) + data[position + END.size :]
    return data[:at] + record + data[stop:start] + bytes(directory) + tail


def _packed(content: bytes, method: int) -> bytes:
    """Content as a member stores it."""
    if method == zipfile.ZIP_STORED:
        return content
    packer = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()
