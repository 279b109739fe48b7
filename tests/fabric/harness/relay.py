#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""relay.py - a TCP relay between two hosts that stalls.

usage: relay.py NETNS1 ADDRESS1 NETNS2 ADDRESS2 FIRST_PORT LAST_PORT

In name space 1 it listens at address 1 and connects on from name space 2, and the other way round:
each host finds it at the other's address. Bytes go on in pieces of any length, and now and then not
at all for up to half a second; only what a connection begins with stays in one piece, since the core
net of libfabric 1.17 gives a connection up whose first message does not come whole. Prints "ready",
runs until it is ended.
"""
import ctypes
import os
import random
import selectors
import socket
import struct
import sys
import time

ROOM = 1 << 16 # bytes that a direction holds
BETWEEN_STALLS, LONGEST_STALL = 1.5, 0.5 # s

LIBC = ctypes.CDLL(None, use_errno=True)
SELECTOR = selectors.DefaultSelector()
RND = random.Random(7)


def tcp_socket(netns):
    """A socket of that name space."""
    fd = os.open(netns, os.O_RDONLY)
    if LIBC.setns(fd, 0x40000000):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(fd)
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


class Way:
    """One direction of a connection."""

    def __init__(self, source, sink):
        self.source, self.sink = source, sink
        self.held = bytearray()
        self.begun = False # something was passed on
        self.ended = False # the source has nothing more
        self.passed_on = False # and the sink knows
        self.stalled_until = 0.0
        self.stall_at = time.monotonic() + RND.random() * BETWEEN_STALLS

    def move(self, now):
        """Take and give what can be had now."""
        if now >= self.stall_at:
            self.stalled_until = now + RND.random() * LONGEST_STALL
            self.stall_at = self.stalled_until + RND.random() * BETWEEN_STALLS
        if now < self.stalled_until:
            return
        if not self.ended and len(self.held) < ROOM:
            try:
                got = self.source.recv(ROOM - len(self.held))
                self.held += got
                self.ended = not got
            except BlockingIOError:
                pass
        if self.held:
            piece = RND.choice((1, 7, 1448, ROOM, ROOM, ROOM)) if self.begun else ROOM
            try:
                del self.held[:self.sink.send(self.held[:piece])]
                self.begun = True
            except BlockingIOError:
                pass
        elif self.ended and not self.passed_on:
            self.sink.shutdown(socket.SHUT_WR)
            self.passed_on = True


class Link:
    """A connection, both directions."""

    def __init__(self, one, two):
        self.sockets = (one, two)
        self.ways = (Way(one, two), Way(two, one))
        for s in self.sockets:
            s.setblocking(False)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def move(self, now):
        """False: it is over, by a proper end or by a reset."""
        try:
            for way in self.ways:
                way.move(now)
        except OSError:
            for s in self.sockets:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        return not all(way.passed_on for way in self.ways)

    def close(self):
        """Both sockets."""
        for s in self.sockets:
            s.close()


def listen(netns, address, ports, onward):
    """Listen at all ports; `onward` is where connections go."""
    for port in ports:
        s = tcp_socket(netns)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((address, port))
        s.listen(64)
        SELECTOR.register(s, selectors.EVENT_READ, (port, onward))


def accept(key):
    """The connection and its other half; None where nobody listens there."""
    one = key.fileobj.accept()[0]
    port, (netns, address) = key.data
    two = tcp_socket(netns)
    two.settimeout(5)
    try:
        two.connect((address, port))
    except OSError:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.close()
        two.close()
        return None
    return Link(one, two)


def main():
    """Relay for ever."""
    netns1, address1, netns2, address2 = sys.argv[1:5]
    ports = range(int(sys.argv[5]), int(sys.argv[6]) + 1)
    links = []
    listen(netns1, address1, ports, (netns2, address1))
    listen(netns2, address2, ports, (netns1, address2))
    print("ready", flush=True)
    while True:
        for key, _ in SELECTOR.select(0.0005 if links else 0.1):
            link = accept(key)
            if link:
                links.append(link)
        now = time.monotonic()
        for link in links[:]:
            if not link.move(now):
                link.close()
                links.remove(link)


if __name__ == "__main__":
    main()
