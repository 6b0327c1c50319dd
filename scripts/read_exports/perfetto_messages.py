#!/usr/bin/env python3
"""Checks an export of the target `perfetto` with Perfetto's own messages for Python (PyPI: perfetto).

Each field must be known to them, packets must follow the rules for sequences, and calls, total and self time by
thread and method must be those of `jtrail report`. The exit code is 1 if something differs.
"""

import argparse
import collections
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent

from perfetto_engine import compare_threads, threads_by_name
from report import Comparison, Report, Sums


def unknown_fields(message):
    """Yields the unknown fields of a message and of those in it, as `MESSAGE.NUMBER`."""
    for field in UnknownFieldSet(message):
        yield f"{message.DESCRIPTOR.name}.{field.field_number}"
    for field, value in message.ListFields():
        if field.message_type:
            for inner in value if field.is_repeated else [value]:
                yield from unknown_fields(inner)


class Sequence:
    """The state of a sequence of packets: defaults, interned names, and the latest time of each incremental clock."""

    def __init__(self, packet):
        assert packet.sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED, "a sequence begins without a new state"
        self.defaults = packet.trace_packet_defaults
        self.names, self.times = {}, {}

    def time(self, packet):
        """The time of a packet in ns."""
        for clock in packet.clock_snapshot.clocks:
            self.times[clock.clock_id] = clock.timestamp
            assert clock.is_incremental == (clock.clock_id >= 64)
        clock = packet.timestamp_clock_id or self.defaults.timestamp_clock_id
        if not packet.HasField("timestamp"):
            return None
        if clock < 64:  # a clock of the system
            return packet.timestamp
        self.times[clock] += packet.timestamp
        return self.times[clock]

    def name(self, event):
        """The name of an event."""
        return self.names[event.name_iid] if event.name_iid else event.name

    def track(self, event):
        """The id of an event's track."""
        return event.track_uuid or self.defaults.track_event_defaults.track_uuid


class Tracks:
    """Tracks with their names, and sums over their slices."""

    def __init__(self, is_call, start):
        self.start = start
        self.names, self.sequences, self.unknown = {}, {}, collections.Counter()
        self.sums = collections.defaultdict(lambda: Sums(is_call))

    def add(self, packet):
        """Adds a packet of the trace."""
        self.unknown.update(unknown_fields(packet))
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            self.names[track.uuid] = (track.thread.tid, track.thread.thread_name or track.name or track.process.process_name)
        number = packet.trusted_packet_sequence_id
        sequence = self.sequences.get(number) or self.sequences.setdefault(number, Sequence(packet))
        for name in packet.interned_data.event_names:
            assert name.iid and name.iid not in sequence.names
            sequence.names[name.iid] = name.name
        time = sequence.time(packet)
        if packet.HasField("track_event"):
            self.add_event(sequence, packet.track_event, time - self.start)

    def add_event(self, sequence, event, time):
        """Adds the begin or the end of a slice."""
        track = sequence.track(event)
        if event.type != TrackEvent.TYPE_COUNTER:
            assert track in self.names, "an event is before its track"
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            self.sums[track].begin(sequence.name(event), time)
        elif event.type == TrackEvent.TYPE_SLICE_END:
            sums = self.sums[track]
            sums.end(sums.open[-1][0], time)


def packets(export):
    """Yields the packets of a file."""
    trace = Trace()
    with open(export, "rb") as file:
        trace.ParseFromString(file.read())
    assert not list(UnknownFieldSet(trace))
    yield from trace.packet


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("export")
    parser.add_argument("--jtrail", default="jtrail", metavar="PROGRAM", help="the command line")
    options = parser.parse_args()
    report = Report(options.jtrail, options.trace)
    methods = report.methods()
    names = {name for of_thread in methods.values() for name in of_thread}
    tracks = Tracks(names.__contains__, report.trace["start_ns"])
    for packet in packets(options.export):
        tracks.add(packet)
    comparison = Comparison()
    comparison.equal("unknown fields", {}, dict(tracks.unknown))
    comparison.equal("slices that are open at the end", [], [slice for sums in tracks.sums.values() for slice in sums.open])
    threads = threads_by_name(report, methods, tracks.names, tracks.sums)
    compare_threads(comparison, report, methods, {threads[track]: sums for track, sums in tracks.sums.items()})
    return comparison.finish()


if __name__ == "__main__":
    sys.exit(main())
