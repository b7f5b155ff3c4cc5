"""Segments → a file: in place where the container allows it, else anew with all other streams copied by PyAV."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pic_uie.errors import VideoError
from pic_uie.video import kinds, samples
from pic_uie.video.boxes import read_layout
from pic_uie.video.clip import Clip
from pic_uie.video.encode import Segment, read_segment
from pic_uie.video.kinds import Kind
from pic_uie.video.library import pyav
from pic_uie.video.parts import Finished
from pic_uie.video.pipeline import Range
from pic_uie.video.samples import Ints
from pic_uie.video.transplant import Encoded, transplant


@dataclass(frozen=True)
class Track:
    """All segments of a result as one: in decoding order, with times in ticks of the source, as they are shown."""

    segments: tuple[Segment, ...]
    order: Ints
    times: Ints

    @classmethod
    def join(cls, finished: Sequence[Finished]) -> Track:
        """Reads the segments' indices.

        Raises:
            VideoError: A segment is not what was noted of it; the next run makes it again.
        """
        segments = tuple(read_segment(part.path) for part in finished)
        counts = [len(segment.order) for segment in segments]
        if counts != [len(part.times) for part in finished] or len({segment.entry for segment in segments}) != 1:
            raise VideoError("internal error, please report it: segments do not fit together")
        starts = np.cumsum([0, *counts[:-1]])
        order = np.concatenate([segment.order + start for segment, start in zip(segments, starts, strict=True)])
        times = np.array([time for part in finished for time in part.times], np.int64)
        return cls(segments, order, times)

    @property
    def size(self) -> int:
        """Bytes of all samples."""
        return int(sum(segment.sizes.sum() for segment in self.segments))


def exchange(clip: Clip, track: Track, path: Path, size: tuple[int, int]) -> None:
    """Writes an MP4 or QuickTime file that is the source but for its frames.

    Raises:
        VideoError: The source's tables make no sense.
        OSError: It cannot be written.
    """
    if clip.layout is None:
        raise ValueError("the frames of this file cannot be exchanged in place")
    encoded = Encoded(
        entry=track.segments[0].entry,
        places=[
            (segment.path, int(at), int(length))
            for segment in track.segments
            for at, length in zip(segment.offsets, segment.sizes, strict=True)
        ],
        order=track.order,
        keys=np.concatenate([segment.keys for segment in track.segments]),
        times=track.times,
        size=None if size == (clip.width, clip.height) else size,
        colour=None if clip.hdr is None else clip.colour.tags,
    )
    with open(path, "wb", buffering=1 << 20) as out:
        transplant(clip.path, clip.layout, clip.track, encoded, out)
        out.flush()
        os.fsync(out.fileno())


@dataclass(frozen=True)
class Remuxed:
    """What is to be told of a file that was written anew.

    Attributes:
        lost: What could not be carried.
        packets: How many packets with a frame the source has.
    """

    lost: tuple[str, ...]
    packets: int


def remux(clip: Clip, track: Track, path: Path, kind: Kind, span: Range, *, keep_metadata: bool) -> Remuxed:
    """Writes a file anew with the new frames and the other streams as they are.

    Args:
        clip: The source.
        track: The frames.
        path: The file.
        kind: Its container.
        span: Which part of the source it shows; times then begin at 0.
        keep_metadata: Whether tags, chapters and data streams are carried.

    Raises:
        VideoError: The container refuses the frames.
        OSError: It cannot be written.
    """
    av = pyav()
    try:
        with (
            av.open(str(clip.path)) as source,
            av.open(str(track.segments[0].path)) as first,
            av.open(str(path), "w", format=kind.name, options=_options(clip, source, kind)) as out,
        ):
            streams, lost = _streams(av, clip, source, first, out, keep_metadata)
            if keep_metadata:
                _copy_tags_of_the_file(clip, source, out, span)
            new = _packets(av, clip, track, streams[clip.index], span, after_zero=kind is kinds.TS)
            if kind is kinds.AVI:  # which has no place for the parameters of the stream: they go into the packets
                new = _with_parameters(av, new, first.streams.video[0], streams[clip.index])
            packets = _copy(clip, source, out, streams, new, span)
            ticks = clip.time_base / streams[clip.index].time_base
            if np.any((track.times - (span.start or 0)) * ticks.numerator % ticks.denominator):
                lost.append(f"times as fine as {clip.time_base} s, which are rounded")
    except av.error.FFmpegError as error:
        if isinstance(error, OSError) and error.errno and error.errno > 0:
            raise OSError(error.errno, error.strerror) from error
        raise VideoError(f"{kind.title} cannot hold it: {error}") from error
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
    return Remuxed(tuple(lost), packets)


def _options(clip: Clip, source: Any, kind: Kind) -> dict[str, str]:
    """Options of the muxer: the same bytes in every run, an index that comes first, and times to the tick."""
    options = {"fflags": "+bitexact"}  # numbers of tracks and segments are not drawn at random
    if kind is kinds.TS:
        options["mpegts_copyts"] = "1"
    if kind in (kinds.MP4, kinds.MOV):
        clocks = [clip.time_base, *(stream.time_base for stream in source.streams if stream.time_base)]
        common = math.lcm(*(clock.denominator for clock in clocks))
        options["movflags"] = "faststart"
        options["video_track_timescale"] = str(clip.time_base.denominator)
        # delays are counted in ticks of the whole file
        options["movie_timescale"] = str(common if common <= _MAX_CLOCK else clip.time_base.denominator)
    return options


def _streams(
    av: Any, clip: Clip, source: Any, first: Any, out: Any, keep_metadata: bool
) -> tuple[dict[int, Any], list[str]]:
    """Adds the streams of the source to the result; returns them by their number, and what could not be carried."""
    streams: dict[int, Any] = {}
    lost: list[str] = []
    chapters = _chapter_tracks(clip)
    for stream in source.streams:
        if stream.index == clip.index:
            streams[stream.index] = video = out.add_stream_from_template(first.streams.video[0])
            video.time_base = clip.time_base
            if keep_metadata:
                _copy_tags(stream, video)
            if clip.rotation and not _rotate(video, clip.rotation):
                lost.append("its rotation")
            continue
        if not keep_metadata and stream.type not in ("audio", "subtitle"):
            continue
        if stream.type == "data" and stream.id in chapters:
            continue  # it holds the names of chapters, which are written as chapters
        try:
            if stream.type == "attachment":
                out.add_attachment(stream.name or "attachment", stream.mimetype or "", stream.data)
                continue
            if stream.type not in ("audio", "subtitle", "video") or stream.codec_context is None:
                raise ValueError("no stream that can be written")
            copied = out.add_stream_from_template(stream)
        except (av.error.FFmpegError, ValueError, AttributeError, TypeError):
            lost.append(f"stream {stream.index} ({_title(stream)})")
            continue
        streams[stream.index] = copied
        if keep_metadata:
            _copy_tags(stream, copied)
    return streams, lost


def _chapter_tracks(clip: Clip) -> frozenset[int]:
    if clip.kind not in (kinds.MP4, kinds.MOV):
        return frozenset()
    return samples.chapter_tracks(read_layout(clip.path).moov)


def _copy_tags_of_the_file(clip: Clip, source: Any, out: Any, span: Range) -> None:
    out.metadata.update({key: value for key, value in source.metadata.items() if key not in _OF_THE_CONTAINER})
    if chapters := _moved(source.chapters(), clip, span):
        out.set_chapters(chapters)


def _moved(chapters: list[Any], clip: Clip, span: Range) -> list[Any]:
    """Chapters as the part of the source has them: those that lie in it, from its start on."""
    kept = []
    for chapter in chapters:
        base = Fraction(chapter["time_base"])
        first, last = (None if at is None else round(at * clip.time_base / base) for at in (span.start, span.end))
        start = chapter["start"] if first is None else max(chapter["start"], first)
        end = chapter["end"] if last is None else min(chapter["end"], last)
        if start < end or span == Range():
            kept.append({**chapter, "start": start - (first or 0), "end": end - (first or 0)})
    return kept


def _copy(clip: Clip, source: Any, out: Any, streams: dict[int, Any], new: Iterator[Any], span: Range) -> int:
    """Writes the new frames in the places of the old ones, and all other streams; returns the number of old ones."""
    shift = _shift(clip, span)
    end = None if span.end is None else span.end * clip.time_base
    wanted = [stream for stream in source.streams if stream.index in streams]
    count = 0
    for packet in source.demux(wanted):
        if packet.dts is None and packet.pts is None:
            continue
        if packet.stream_index == clip.index:
            count += packet.size > 0
            fresh = next(new, None)
            if fresh is not None:
                out.mux_one(fresh)
            continue
        at = Fraction(packet.pts if packet.pts is not None else packet.dts) * packet.time_base
        if (span.start is not None and at < shift) or (end is not None and at >= end):
            continue
        ticks = round(shift / packet.time_base)
        packet.pts = None if packet.pts is None else packet.pts - ticks
        packet.dts = None if packet.dts is None else packet.dts - ticks
        packet.stream = streams[packet.stream_index]
        out.mux_one(packet)
    for fresh in new:
        out.mux_one(fresh)
    return count


def _shift(clip: Clip, span: Range) -> Fraction:
    """By how many seconds times are earlier than in the source."""
    return Fraction(0) if span.start is None else span.start * clip.time_base


def _packets(av: Any, clip: Clip, track: Track, stream: Any, span: Range, *, after_zero: bool) -> Iterator[Any]:
    """Yields the new frames as packets; each is decoded no later than it is shown.

    `after_zero` packs the first ones closely where one would be decoded before time 0: MPEG-TS has no such times, and
    FFmpeg would move all streams instead.
    """
    times = track.times - (span.start or 0)
    shown = times[track.order]
    decoded = times - max(0, int((times - shown).max()))
    packed = np.maximum(decoded, np.arange(len(times)))
    if after_zero and np.all(packed <= shown):
        decoded = packed
    number = 0
    for segment in track.segments:
        data = segment.path
        with open(data, "rb") as file:
            for at, size, key in zip(segment.offsets, segment.sizes, segment.keys, strict=True):
                file.seek(int(at))
                packet = av.Packet(file.read(int(size)))
                packet.pts, packet.dts = int(shown[number]), int(decoded[number])
                packet.time_base, packet.stream, packet.is_keyframe = clip.time_base, stream, bool(key)
                frame = int(track.order[number])
                if frame + 1 < len(times):
                    packet.duration = int(times[frame + 1] - times[frame])
                number += 1
                yield packet


def _with_parameters(av: Any, packets: Iterator[Any], coded: Any, written: Any) -> Iterator[Any]:
    """Yields packets that begin with the parameters of the stream where decoding can begin."""
    name = "h264_mp4toannexb" if coded.codec_context.name == "h264" else "hevc_mp4toannexb"
    bitstream_filter = av.bitstream.BitStreamFilterContext(name, coded, written)
    for packet in packets:
        stream = packet.stream
        for changed in bitstream_filter.filter(packet):
            changed.stream = stream
            yield changed


def _copy_tags(stream: Any, copied: Any) -> None:
    copied.metadata.update({key: value for key, value in stream.metadata.items() if key.upper() not in _OF_THE_STREAM})
    copied.disposition = stream.disposition


def _rotate(stream: Any, degrees: int) -> bool:
    try:
        stream.set_display_rotation(degrees)
    except (AttributeError, ValueError, TypeError):
        return False
    return True


def _title(stream: Any) -> str:
    name = stream.metadata.get("handler_name", "").strip()
    return f"{stream.type}, {name}" if name else str(stream.type)


_MAX_CLOCK = (1 << 31) - 1  # ticks a second
_OF_THE_CONTAINER = frozenset({"major_brand", "minor_version", "compatible_brands", "encoder", "ENCODER"})
_OF_THE_STREAM = frozenset({"ENCODER", "DURATION", "BPS", "NUMBER_OF_FRAMES", "NUMBER_OF_BYTES", "VENDOR_ID"})


def container_of(clip: Clip) -> Kind:
    """Returns the container of the result."""
    return kinds.result_of(clip.kind)
