"""The invariants of docs/architecture.md, checked after each rule but I7 and I10,
which are in those that raise."""

from __future__ import annotations

from hypothesis.stateful import invariant

from ndarray_rt.native import ffi, lib
from ndarray_rt.testing.layout_model import assert_padding_zero

from .base import Base
from .model import REACHED, same_bits


class Invariants(Base):
    """What holds whatever has been done."""

    @invariant()
    def i1_a_layout_is_over_the_own_handle(self) -> None:
        for storage in self.storages:
            chunk, desc = storage.chunk, storage.chunk.mkl_mem
            if desc is not None:
                assert chunk.is_allocated
                assert desc.nbytes <= chunk.handle.nbytes
                assert not desc.is_default
                REACHED["special"] += 1
            if chunk.is_allocated:
                assert chunk.handle.nbytes >= storage.data.size, "arrays reach beyond the memory"

    @invariant()
    def i2_padding_is_zero_and_growth_is_seen(self) -> None:
        for storage in self.storages:
            desc = storage.chunk.mkl_mem
            if desc is not None and desc.is_padded:
                # of an earlier life nothing is ever read as a layout
                if storage.seen() is not None:
                    assert_padding_zero(storage.chunk, repr(storage))
                REACHED["padded"] += 1
            assert all(held.array._chunk is storage.chunk for held in storage.held)

    @invariant()
    def i3_every_array_shows_the_model(self) -> None:
        for storage in self.storages:
            seen, known = storage.seen(), storage.known
            if seen is None:
                assert not known.any(), f"{storage!r}: contents were lost"
            else:
                assert same_bits(seen[known], storage.data[known]), (
                    f"{storage!r}: {seen.view(storage.dtype)} is not "
                    f"{storage.data.view(storage.dtype)}")
            for held in storage.held:
                assert held.array._byte_offset == held.start

    @invariant()
    def i3_readers_are_not_disturbed(self) -> None:
        for storage in self.storages:
            for reader in storage.readers:
                mem = reader.mem
                now = bytes(ffi.buffer(mem.ptr, mem.desc.nbytes))
                assert now == reader.seen, f"{storage!r}: memory changed under a reader"

    @invariant()
    def i4_version_follows_pointer_and_layout(self) -> None:
        for storage in self.storages:
            address, desc, version, _ = storage.state()
            cached = storage.versions.setdefault(version, (address, desc))
            if cached[0] == 0:  # no memory yet: there was no pointer to cache
                cached = storage.versions[version] = (address, desc)
            assert cached == (address, desc), (
                f"{storage!r}: what was cached at version {version} is stale, and not found out")

    @invariant()
    def i5_exported_bytes_stay_and_see_writes(self) -> None:
        for storage in self.storages:
            chunk = storage.chunk
            assert chunk.pins == len(storage.exports)
            assert chunk.native.writable_pins == sum(e.writable for e in storage.exports)
            for export in storage.exports:
                assert chunk.handle.address == export.address, "exported bytes were moved"
                assert chunk.mkl_mem is None, "exported bytes were converted"
                export.held.compare(export.buffer, "an export")

    @invariant()
    def i8_leases_are_given_back(self) -> None:
        for storage in self.storages:
            assert lib.ndrt_chunk_lease(storage.chunk.native) == len(storage.readers)
            assert storage.chunk.native.packers == len(storage.packers)

    @invariant()
    def i9_rank_is_part_of_a_layout(self) -> None:
        for storage in self.storages:
            desc = storage.chunk.mkl_mem
            if desc is None or not storage.known.any():
                continue
            if desc.ndims == len(storage.shape) + 1:
                groups = desc.dims[0]
                assert (groups * desc.dims[1], *desc.dims[2:]) == storage.shape
                REACHED["grouped"] += 1
                REACHED["grouped and padded"] += desc.is_padded

    @invariant()
    def i11_the_write_counter_moves_with_the_contents(self) -> None:
        for storage in self.storages:
            seen, native = storage.seen(), storage.chunk.native
            if seen is None or native.writable_pins:
                storage.last = None
                continue
            changes, last = storage.chunk.changes, storage.last
            if last is not None and last[0] == changes:
                both = last[2] & storage.known
                assert same_bits(seen[both], last[1][both]), (
                    f"{storage!r}: contents changed and the write counter did not")
            storage.last = changes, seen, storage.known.copy()
