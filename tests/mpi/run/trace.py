#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""trace.py - two traces of a program have the same matches: for each receiver, communicator and sender the
same messages met the same kinds of receives, in the order of the messages.

usage: trace.py [--together] ARRIVALS FILE...    the trace of `quiver trace arrivals`, and the provider's of each
                                                 rank, by Open MPI over libfabric

--together: both are of one run, so the provider has seen what the ranks say to each other in MPI_Init because of
libquiver-mpi, on a communicator of its own."""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "trace"))
import plain  # pylint: disable=wrong-import-position

TAG = 0xffffffff      # of the program: bits of a tag; below 0 the MPI's own
ACK, PROTOCOL = 1 << 33, 3 << 32  # Open MPI's: a message that answers a synchronous one
KIND = 0x7fffffff
ANY = plain.ANY_SOURCE


def matches(lane, comm_of):
    """By communicator and sender: tag of each message, and how its receive asked for it; None: none did."""
    streams, receives, waits, looked = collections.defaultdict(list), {}, {}, None

    def asked(e):
        return e.src == ANY or e.ignore & ~(TAG | PROTOCOL) != 0, e.ignore & KIND != 0

    for e in lane.events:
        if e.kind == plain.ARRIVE:
            entry = [e.tag & TAG, receives.pop(e.node) if e.matched else None]
            streams[comm_of(e.tag), e.src].append(entry)
        elif e.kind == plain.QUEUE:
            waits[e.node] = entry
        elif e.kind == plain.POST and e.matched:
            waits.pop(e.node)[1] = asked(e)
        elif e.kind == plain.POST:
            receives[e.node] = asked(e)
        elif e.kind == plain.PEEK:
            looked = asked(e)
        elif e.kind == plain.TAKE:
            waits.pop(e.node)[1] = (*looked, "claimed")
        elif e.kind == plain.CANCEL:
            del receives[e.node]
    for stream in streams.values():
        stream[:] = [tuple(x) for x in stream if x[0] <= KIND]
    return streams


def are_joined(ours, theirs):
    """Each of theirs is one of ours, or several in a row: Open MPI gives the number of a communicator that
    was freed to another one."""
    left = sorted(ours, key=len, reverse=True)
    for stream in theirs:
        at = 0
        while at < len(stream):
            part = next((s for s in left if stream[at:at + len(s)] == s), None)
            if not part:
                return False
            left.remove(part)
            at += len(part)
    return not left


def without_own(streams):
    """All but those of libquiver-mpi: a few messages with one tag. No stream of the program may look so."""
    own = [s for s in streams if len(s) <= 3 and len({x[0] for x in s}) == 1]
    assert len(own) <= 1, own
    return [s for s in streams if s not in own]


def sorted_streams(streams):
    """How a communicator and a sender are called differs; their tags tell them apart."""
    return sorted(tuple(s) for s in streams if s)


def provider_streams(path):
    """Open MPI's tags: the program's in the low 32 bits, two of its protocol, the communicator."""
    trace = plain.read(path)
    assert trace.whole and not trace.lost, path
    lanes = [x for x in trace.lanes if x.queue == 1]
    streams = collections.defaultdict(list)
    for number, lane in enumerate(lanes):
        assert plain.judge(lane) is None, plain.judge(lane)
        for (comm, src), stream in matches(lane, lambda tag: (tag >> 34, tag & ACK)).items():
            if not comm[1]:
                streams[number, comm, src] += stream
    return trace.processes[0].rank, sorted_streams(streams.values())


def main():
    together = sys.argv[1] == "--together"
    arrivals, *files = sys.argv[2 if together else 1:]
    trace = plain.read(arrivals)
    assert trace.whole and not trace.lost
    ours = {}
    for lane in trace.lanes:
        assert plain.judge(lane) is None, plain.judge(lane)
        streams = matches(lane, lambda tag: tag >> 32)
        ours[trace.processes[lane.process].rank] = sorted_streams(streams.values())
    total = sum(len(s) for streams in ours.values() for s in streams)
    assert total and all(x[1] for streams in ours.values() for s in streams for x in s), "not received"
    for path in files:
        rank, theirs = provider_streams(path)
        theirs = without_own(theirs) if together else theirs
        if not are_joined(ours.pop(rank), theirs):
            print(f"rank {rank}: the matches differ")
            return 1
    if files:
        assert not ours, f"no file of the provider for ranks {sorted(ours)}"
    print(f"trace: {total} matches, {'the same over the provider' if files else 'in an order of MPI'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
