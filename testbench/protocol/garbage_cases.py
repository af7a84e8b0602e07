"""Bytes that are no conversation: each gets an error reply or ends the connection, and the server serves the next client."""
import os
import random
import select
import struct

import vfio_user as vu
from simulator import SimulatorCase
from wire import HEADER, PATIENCE_S, Closed, Wire, frame

SEED = int(os.environ.get("WEFT_PROTOCOL_SEED", "20261123"))
CONVERSATIONS = int(os.environ.get("WEFT_PROTOCOL_GARBAGE", "300"))


def good_messages():
    yield vu.DEVICE_GET_INFO, vu.DEVICE_BODY.pack(16, 0, 0, 0)
    yield vu.GET_REGION_INFO, vu.REGION_BODY.pack(32, 0, vu.BAR0, 0, 0, 0)
    yield vu.GET_REGION_IO_FDS, vu.IO_FDS_BODY.pack(4096, 0, vu.BAR2, 0)
    yield vu.GET_IRQ_INFO, vu.IRQ_BODY.pack(16, 0, vu.MSIX, 0)
    yield vu.SET_IRQS, vu.IRQ_SET_BODY.pack(20, vu.DATA_NONE | vu.TRIGGER, vu.MSIX, 0, 1)
    yield vu.REGION_READ, vu.ACCESS_BODY.pack(0, vu.CONFIG, 4)
    yield vu.REGION_WRITE, vu.ACCESS_BODY.pack(0, vu.BAR4, 4) + bytes(4)
    yield vu.DMA_MAP, vu.MAP_BODY.pack(32, 3, 0, 0x100000, 4096)
    yield vu.DMA_UNMAP, vu.UNMAP_BODY.pack(24, 0, 0x100000, 4096)
    yield vu.DEVICE_RESET, b""


class Garbage(SimulatorCase):
    def answered_or_closed(self, wire):
        """One message of the server, or the end of the connection; a silence is the failure."""
        try:
            return wire.receive()
        except Closed:
            return None

    def test_a_message_shorter_than_a_header_ends_the_connection(self):
        for size in (0, 1, 15):
            client = vu.Client(self.socket_path())
            client.wire.send(frame(1, vu.DEVICE_GET_INFO, size=size))
            while self.answered_or_closed(client.wire):
                pass
            client.close()

    def test_a_message_larger_than_the_server_takes_is_refused_or_ends_the_connection(self):
        with vu.Client(self.socket_path()) as client:
            for size in (client.transfer + 4096, 1 << 20):
                body = vu.ACCESS_BODY.pack(0, vu.BAR0, size) + bytes(size)
                try:
                    client.wire.send(frame(1, vu.REGION_WRITE, body))
                except Closed:
                    return
                message = self.answered_or_closed(client.wire)
                if message is None:
                    return
                self.assertNotEqual(message.error, 0)
            client.device_info()

    def test_a_client_that_leaves_in_the_middle_of_anything_leaves_a_server(self):
        whole = frame(1, vu.VERSION, vu.VERSION_BODY.pack(0, 1) + vu.version_data(vu.OURS))
        for size in (0, 1, 8, 15, 16, 17, len(whole) - 1, len(whole)):
            with Wire(self.socket_path()) as wire:
                if size:
                    wire.send(whole[:size])
        for command, body in good_messages():
            message = frame(2, command, body)
            for size in (1, 16, len(message) - 1, len(message)):
                with vu.Client(self.socket_path()) as client:
                    client.wire.send(message[:size])

    def test_single_bytes_make_the_same_message(self):
        client = self.client()
        for byte in frame(9, vu.DEVICE_GET_INFO, vu.DEVICE_BODY.pack(16, 0, 0, 0)):
            client.wire.send(bytes([byte]))
        client.wire.answer_to(vu.DEVICE_GET_INFO, 9)

    def test_every_truncated_and_lengthened_payload_gets_its_answer(self):
        client = self.client()
        for command, body in good_messages():
            for size in {0, 1, 3, 4, len(body) - 1, len(body) + 1, len(body) + 4, len(body) + 4096} - {-1, len(body)}:
                client.wire.send(frame(size & 0xFFFF, command, (body + bytes(5000))[:size]))
                message = client.wire.receive()
                self.assertEqual((message.message_id, message.command), (size & 0xFFFF, command))
                self.assertNotEqual(message.error, 0, f"command {command} with {size} bytes in place of {len(body)}")
                self.assertEqual(message.payload, b"")
        client.device_info()

    def test_random_fields_get_an_answer_each(self):
        chance = random.Random(SEED)
        messages = list(good_messages())
        extremes = [0, 1, 7, 8, 0xFF, 0x1000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
        for conversation in range(CONVERSATIONS):
            with vu.Client(self.socket_path()) as client:
                for index in range(8):
                    command, body = chance.choice(messages)
                    body = bytearray(body)
                    for _ in range(chance.randrange(1, 4)):
                        if len(body) >= 4:
                            struct.pack_into("<I", body, chance.randrange(len(body) // 4) * 4, chance.choice(extremes))
                    where = f"seed {SEED}, conversation {conversation}, message {index}: command {command}, {bytes(body).hex()}"
                    client.wire.send(frame(index, command, bytes(body)))
                    try:
                        message = client.wire.receive()
                        while not message.is_reply:  # the device may ask for memory that was mapped without a file
                            client.wire.send(frame(message.message_id, message.command, flags=0x21, error=14))
                            message = client.wire.receive()
                    except Closed:
                        break
                    except TimeoutError:
                        self.fail(f"no answer within {PATIENCE_S} s: {where}")
                    self.assertEqual((message.message_id, message.command), (index, command), where)

    def test_random_bytes_are_refused_or_end_the_connection(self):
        chance = random.Random(SEED + 1)
        for conversation in range(CONVERSATIONS):
            with Wire(self.socket_path()) as wire:
                try:
                    if conversation % 2:
                        wire.send(frame(1, vu.VERSION, vu.VERSION_BODY.pack(0, 1)))
                        wire.receive()
                    wire.send(chance.randbytes(chance.randrange(1, 400)))
                    while select.select([wire.socket], [], [], 0.002)[0]:
                        wire.receive()
                except Closed:
                    continue

    def test_random_headers_before_version_are_refused_or_end_the_connection(self):
        chance = random.Random(SEED + 2)
        for _ in range(CONVERSATIONS):
            with Wire(self.socket_path()) as wire:
                body = chance.randbytes(chance.choice((0, 4, 16, 32)))
                command, kind = chance.randrange(20), chance.choice((0, 0, 2, 0x20))
                wire.send(HEADER.pack(7, command, HEADER.size + len(body), kind, 0) + body)
                message = self.answered_or_closed(wire)
                if message is not None and command != vu.VERSION:
                    self.assertNotEqual(message.error, 0)

    def test_descriptors_beside_messages_that_take_none_are_refused_and_closed(self):
        client = self.client()
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        for command, body in good_messages():
            if command in (vu.SET_IRQS, vu.DMA_MAP, vu.DMA_UNMAP, vu.GET_REGION_IO_FDS):
                continue
            client.wire.send(frame(1, command, body), [write])
            self.assertNotEqual(client.wire.receive().error, 0, f"command {command}")
        os.close(write)
        self.assertTrue(select.select([read], [], [], PATIENCE_S)[0], "the server keeps a descriptor")
        self.assertEqual(os.read(read, 1), b"")
