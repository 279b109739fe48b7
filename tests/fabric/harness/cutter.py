#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cutter.py - a TCP relay between two hosts that cuts connections where it is told to.

usage: cutter.py NETNS1 ADDRESS1 NETNS2 ADDRESS2 FIRST_PORT LAST_PORT ORDERS

It sits between the hosts as relay.py does. ORDERS is the path of a Unix socket: a connection to
it is one line, and one line back.
  arm MODE WAY BYTE   count bytes from now on; before byte BYTE of way WAY (0: from the first host to
                      the second, 1: back), of all connections together, do once to the connection
                      that it is on:
                        end    both ways end in order, what comes after is lost
                        reset  both hosts see a reset
                        half   this way ends in order, the other goes on
                        delay  this way stalls for 0.4 s
                        none   nothing
  ask                 whether it was done (0, 1), and the bytes of both ways
Prints "ready", runs until it is ended.
"""
import os
import selectors
import socket
import struct
import sys
import time

from relay import tcp_socket

ROOM = 1 << 16 # bytes that a direction holds
DELAY = 0.4
LEFT = 1.0 # s in which hosts see a connection end in order
MODES = ("end", "reset", "half", "delay", "none")
SELECTOR = selectors.DefaultSelector()


class Order:
    """What is to be done, and what was."""

    def __init__(self, mode="none", way=0, byte=0):
        self.mode, self.way, self.byte = mode, way, byte
        self.done = mode == "none"
        self.bytes = [0, 0]


class Relay:
    """All connections, and the order that holds."""

    def __init__(self):
        self.order = Order()
        self.links = set()


class Way:
    """One direction of a connection."""

    def __init__(self, index, source, sink):
        self.index, self.source, self.sink = index, source, sink
        self.held = bytearray()
        self.ended = False # the source has nothing more
        self.passed_on = False # and the sink knows
        self.lost = False # whatever comes
        self.stalled_until = 0.0

    def take(self):
        """From the source."""
        try:
            got = self.source.recv(ROOM)
        except BlockingIOError:
            return
        self.ended = not got
        if not self.lost:
            self.held += got

    def end(self):
        """The sink sees the end; what is here and what comes is lost."""
        self.lost = True
        self.held.clear()
        if not self.passed_on:
            self.sink.shutdown(socket.SHUT_WR)
            self.passed_on = True

    def give(self, order):
        """To the sink; True: this is where it is to be cut."""
        piece = len(self.held)
        due = not order.done and order.way == self.index
        if due:
            piece = min(piece, order.byte - order.bytes[self.index])
        if piece:
            try:
                piece = self.sink.send(self.held[:piece])
            except BlockingIOError:
                return False
            del self.held[:piece]
            order.bytes[self.index] += piece
        if self.held:
            return due and order.bytes[self.index] == order.byte
        if self.ended and not self.passed_on:
            self.sink.shutdown(socket.SHUT_WR)
            self.passed_on = True
        return False


class Link:
    """A connection, both directions."""

    def __init__(self, first, second):
        self.sockets = (first, second)
        self.ways = (Way(0, first, second), Way(1, second, first))
        self.over_at = None
        for s in self.sockets:
            s.setblocking(False)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def obey(self, order, way):
        """Do it; False: the connection is over."""
        order.done = True
        if order.mode == "reset":
            return False
        if order.mode == "delay":
            way.stalled_until = time.monotonic() + DELAY
        elif order.mode == "half":
            way.end()
        else:
            self.over_at = time.monotonic() + LEFT
            for each in self.ways:
                each.end()
        return True

    def move(self, order, readable):
        """False: it is over, by a proper end or by a reset."""
        now = time.monotonic()
        if self.over_at and now > self.over_at:
            return False
        for way in self.ways:
            if way.source in readable and not way.ended:
                way.take()
            if now >= way.stalled_until and way.give(order) and not self.obey(order, way):
                return False
        return not all(way.passed_on and way.ended for way in self.ways)

    def watch(self):
        """Have the selector say when something can be done."""
        for s, out, back in ((self.sockets[0], self.ways[0], self.ways[1]),
                             (self.sockets[1], self.ways[1], self.ways[0])):
            events = 0
            if not out.ended and len(out.held) < ROOM:
                events |= selectors.EVENT_READ
            if back.held and time.monotonic() >= back.stalled_until:
                events |= selectors.EVENT_WRITE
            known = SELECTOR.get_map().get(s)
            if known and not events:
                SELECTOR.unregister(s)
            elif known and known.events != events:
                SELECTOR.modify(s, events, self)
            elif not known and events:
                SELECTOR.register(s, events, self)

    def close(self, reset):
        """Both sockets."""
        for s in self.sockets:
            if s in SELECTOR.get_map():
                SELECTOR.unregister(s)
            if reset:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()


def move(relay, link, readable):
    """All that can be done for it now."""
    try:
        alive = link.move(relay.order, readable)
        reset = not link.over_at and not all(way.passed_on for way in link.ways)
    except OSError:
        alive, reset = False, True
    if alive:
        link.watch()
    else:
        link.close(reset)
        relay.links.discard(link)


def listen(relay, netns, address, ports, onward, first):
    """Listen at all ports; `onward` is where connections go."""
    def accept(listener, port):
        one = listener.accept()[0]
        two = tcp_socket(onward[0])
        two.settimeout(5)
        try:
            two.connect((onward[1], port))
        except OSError:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()
            two.close()
            return
        link = Link(one, two) if first else Link(two, one)
        relay.links.add(link)
        link.watch()

    for port in ports:
        s = tcp_socket(netns)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((address, port))
        s.listen(64)
        SELECTOR.register(s, selectors.EVENT_READ, lambda s=s, port=port: accept(s, port))


def take_orders(relay, path):
    """At that path."""
    orders = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    orders.bind(path)
    orders.listen(8)

    def accept():
        with orders.accept()[0] as caller:
            words = caller.makefile().readline().split()
            if words and words[0] == "arm" and words[1] in MODES:
                relay.order = Order(words[1], int(words[2]), int(words[3]))
            order = relay.order
            fired = order.done and order.mode != "none"
            caller.sendall(f"{int(fired)} {order.bytes[0]} {order.bytes[1]}\n".encode())

    SELECTOR.register(orders, selectors.EVENT_READ, accept)


def main():
    """Relay for ever."""
    netns1, address1, netns2, address2 = sys.argv[1:5]
    ports = range(int(sys.argv[5]), int(sys.argv[6]) + 1)
    relay = Relay()
    listen(relay, netns1, address1, ports, (netns2, address1), True)
    listen(relay, netns2, address2, ports, (netns1, address2), False)
    if os.path.exists(sys.argv[7]):
        os.unlink(sys.argv[7])
    take_orders(relay, sys.argv[7])
    print("ready", flush=True)
    while True:
        waiting = any(link.over_at or way.stalled_until for link in relay.links
                      for way in link.ways)
        ready, busy = SELECTOR.select(0.01 if waiting else None), {}
        for key, events in ready:
            if not isinstance(key.data, Link):
                key.data()
                continue
            readable = busy.setdefault(key.data, set())
            if events & selectors.EVENT_READ:
                readable.add(key.fileobj)
        for link in list(relay.links) if waiting else busy:
            if link in relay.links:
                move(relay, link, busy.get(link, ()))


if __name__ == "__main__":
    main()
