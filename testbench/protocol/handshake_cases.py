"""Versions, capabilities, message ids, flags and error replies."""
import errno
import json

import vfio_user as vu
from simulator import SimulatorCase
from wire import COMMAND, ERROR, NO_REPLY, Closed, Refused, Wire, frame


class Handshake(SimulatorCase):
    def wire(self):
        wire = Wire(self.socket_path())
        self.addCleanup(wire.close)
        return wire

    def version(self, wire, body):
        reply = wire.call(vu.VERSION, body)
        major, minor = vu.VERSION_BODY.unpack_from(reply.payload)
        data = reply.payload[vu.VERSION_BODY.size:]
        return major, minor, json.loads(data[:-1]) if data else {}

    def refused_or_closed(self, wire, command, payload=b"", fds=()):
        """True: with an error reply, and False: by the end of the connection."""
        try:
            reply = wire.call(command, payload, fds)
        except Refused:
            return True
        except Closed:
            return False
        self.fail(f"command {command} was answered with {reply}")

    def test_the_servers_capabilities_are_of_the_protocols_types(self):
        server = self.client().server
        for name in ("max_msg_fds", "max_data_xfer_size", "max_dma_maps", "pgsizes"):
            if name in server:
                self.assertIsInstance(server[name], int)
                self.assertGreater(server[name], 0)
        self.assertEqual(server.get("pgsizes", 4096) & 4096, 4096)
        self.assertLessEqual(server.get("max_dma_maps", 65535), 65535)

    def test_only_capabilities_that_were_proposed_are_answered(self):
        for proposed in ({}, {"max_msg_fds": 3}, {"pgsizes": 4096, "something_new": {"a": [1, None]}}):
            with self.subTest(proposed=proposed), vu.Client(self.socket_path(), capabilities=proposed) as client:
                self.assertLessEqual(set(client.server), set(proposed) - {"something_new"})

    def test_version_data_are_optional(self):
        self.assertEqual(self.version(self.wire(), vu.VERSION_BODY.pack(0, 1))[:2], (0, 1))

    def test_an_object_without_capabilities_is_a_proposal_of_none(self):
        self.assertEqual(self.version(self.wire(), vu.VERSION_BODY.pack(0, 1) + b"{}\0")[2].get("capabilities", {}), {})

    def test_the_minor_version_is_never_above_the_proposal(self):
        for minor in (0, 1, 2, 9, 0xFFFF):
            with self.subTest(minor=minor), vu.Client(self.socket_path(), version=(0, minor)) as client:
                self.assertLessEqual(client.version[1], minor)

    def test_another_major_version_is_refused(self):
        for major in (1, 2, 0xFFFF):
            with Wire(self.socket_path()) as wire:
                self.refused_or_closed(wire, vu.VERSION, vu.VERSION_BODY.pack(major, 0) + vu.version_data({}))

    def test_version_is_the_first_command_and_comes_once(self):
        with Wire(self.socket_path()) as wire:
            self.refused_or_closed(wire, vu.DEVICE_GET_INFO, vu.DEVICE_BODY.pack(16, 0, 0, 0))
        client = self.client()
        self.refused_or_closed(client.wire, vu.VERSION, vu.VERSION_BODY.pack(0, 1))

    def test_version_data_that_are_no_json_object_are_refused(self):
        for data in (b"{\0", b"\xff\xfe\0", b"[]\0", b'{"capabilities": 3}\0', b'{"capabilities": {"max_msg_fds": "many"}}\0',
                     b'{"capabilities": {"max_data_xfer_size": -1}}\0', b"{" * 5000 + b"\0", b"{}"):
            with self.subTest(data=data[:40]), Wire(self.socket_path()) as wire:
                self.refused_or_closed(wire, vu.VERSION, vu.VERSION_BODY.pack(0, 1) + data)

    def test_a_version_shorter_than_its_numbers_is_refused(self):
        for size in range(vu.VERSION_BODY.size):
            with Wire(self.socket_path()) as wire:
                self.refused_or_closed(wire, vu.VERSION, bytes(size))

    def test_message_ids_belong_to_the_client_and_come_back(self):
        client = self.client()
        body = vu.DEVICE_BODY.pack(16, 0, 0, 0)
        ids = [0, 0xFFFF, 7, 7, 7, 0x8000, 0]
        for message_id in ids:
            client.wire.post(vu.DEVICE_GET_INFO, body, message_id=message_id)
        for message_id in ids:
            client.wire.answer_to(vu.DEVICE_GET_INFO, message_id)

    def test_commands_in_a_pipe_are_executed_in_their_order(self):
        client = self.client()
        for value in range(1, 33):  # the message address of vector 0, in BAR 4
            client.wire.post(vu.REGION_WRITE, vu.ACCESS_BODY.pack(0, vu.BAR4, 4) + (value * 4).to_bytes(4, "little"), message_id=2 * value)
            client.wire.post(vu.REGION_READ, vu.ACCESS_BODY.pack(0, vu.BAR4, 4), message_id=2 * value + 1)
        for value in range(1, 33):
            client.wire.answer_to(vu.REGION_WRITE, 2 * value)
            reply = client.wire.answer_to(vu.REGION_READ, 2 * value + 1)
            self.assertEqual(int.from_bytes(reply.payload[vu.ACCESS_BODY.size:], "little"), value * 4)

    def test_no_reply_is_executed_before_the_next_answer_and_not_answered(self):
        client = self.client()
        for value in (4, 8, 12):
            client.wire.post(vu.REGION_WRITE, vu.ACCESS_BODY.pack(16, vu.BAR4, 4) + value.to_bytes(4, "little"), flags=COMMAND | NO_REPLY)
        self.assertEqual(client.number(vu.BAR4, 16, 4), 12)
        self.assertTrue(client.wire.is_silent())

    def test_an_error_is_not_answered_either_with_no_reply(self):
        client = self.client()
        client.wire.post(vu.REGION_READ, vu.ACCESS_BODY.pack(1 << 40, vu.BAR0, 4), flags=COMMAND | NO_REPLY)
        client.wire.post(99, b"", flags=COMMAND | NO_REPLY)
        client.device_info()
        self.assertTrue(client.wire.is_silent())

    def test_an_error_reply_is_a_header_with_an_errno(self):
        client = self.client()
        client.wire.send(frame(0xABCD, vu.REGION_READ, vu.ACCESS_BODY.pack(1 << 40, vu.BAR0, 4)))
        message = client.wire.receive()
        self.assertEqual((message.message_id, message.command, message.flags, message.payload), (0xABCD, vu.REGION_READ, 1 | ERROR, b""))
        self.assertIn(message.error, errno.errorcode)
        client.device_info()

    def test_commands_that_the_server_does_not_know_are_refused_and_harm_nothing(self):
        client = self.client()
        for command in (0, 11, 12, 14, 15, 16, 17, 18, 99, 0x8000, 0xFFFF):
            with self.subTest(command=command):
                self.assertTrue(self.refused_or_closed(client.wire, command, bytes(32)))
        client.device_info()

    def test_the_error_field_of_a_command_is_reserved_and_means_nothing(self):
        client = self.client()
        client.wire.send(frame(5, vu.DEVICE_GET_INFO, vu.DEVICE_BODY.pack(16, 0, 0, 0), error=errno.EIO))
        client.wire.answer_to(vu.DEVICE_GET_INFO, 5)

    def test_a_reply_that_answers_nothing_gets_no_answer(self):
        client = self.client()
        client.wire.send(frame(5, vu.DEVICE_GET_INFO, flags=1))
        client.wire.send(frame(6, 11, bytes(16), flags=1))
        try:
            client.device_info()
        except Closed:
            return
        self.assertTrue(client.wire.is_silent())

    def test_an_unknown_type_or_flag_is_answered_or_ends_the_connection(self):
        for flags in (2, 15, 1 << 6, 1 << 31, 0xFFFFFFC0):
            with self.subTest(flags=hex(flags)):
                with vu.Client(self.socket_path()) as client:
                    client.wire.send(frame(5, vu.DEVICE_GET_INFO, vu.DEVICE_BODY.pack(16, 0, 0, 0), flags=flags))
                    try:
                        self.assertEqual(client.wire.receive().message_id, 5)
                    except Closed:
                        pass

    def test_a_second_client_of_the_function_is_refused_while_the_first_one_goes_on(self):
        first = self.client()
        with self.assertRaises((Refused, Closed)):
            vu.Client(self.socket_path())
        first.device_info()
