"""Messages of the vfio-user protocol on a UNIX stream socket: frames, message ids, descriptors, the peer's own commands."""
import errno
import select
import socket
import struct
import time
from dataclasses import dataclass, field

HEADER = struct.Struct("<HHIII")  # message id, command, size with this header, flags, error
TYPE_MASK, COMMAND, REPLY = 0xF, 0, 1
NO_REPLY, ERROR = 1 << 4, 1 << 5
PATIENCE_S = 20
MOST_FDS = 64


class Closed(Exception):
    """The server has ended the connection."""


class Refused(Exception):
    """An error reply. `number`: its errno."""

    def __init__(self, number):
        super().__init__(errno.errorcode.get(number, str(number)))
        self.number = number


class Deviation(AssertionError):
    """The server does what the protocol's text does not allow."""


def expect(condition, what):
    if not condition:
        raise Deviation(what)


@dataclass
class Message:
    message_id: int
    command: int
    flags: int
    error: int
    payload: bytes
    fds: list = field(default_factory=list)

    @property
    def is_reply(self):
        return self.flags & TYPE_MASK == REPLY


def frame(message_id, command, payload=b"", flags=COMMAND, error=0, size=None):
    """Bytes of a message. `size`: what the header claims, if that shall not be true."""
    return HEADER.pack(message_id, command, HEADER.size + len(payload) if size is None else size, flags, error) + payload


class Wire:
    """One connection. Commands of the server, which may come at any time, go to `serve`, which returns a reply's payload
    or raises Refused. One thread."""

    def __init__(self, path, serve=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(path)
        self.serve = serve
        self.next_id = 1
        self.served = 0

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data, fds=()):
        """Raw bytes, with descriptors beside the first of them."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(fds)}i", *fds))] if fds else []
        try:
            sent = self.socket.sendmsg([data], rights)
            if sent < len(data):
                self.socket.sendall(data[sent:])
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Closed from error

    def post(self, command, payload=b"", fds=(), flags=COMMAND, message_id=None):
        """Sends a command and waits for nothing. Returns its message id."""
        if message_id is None:
            message_id = self.next_id
            self.next_id = (self.next_id + 1) % 0x10000
        self.send(frame(message_id, command, payload, flags), fds)
        return message_id

    def receive(self):
        """The next message of the server, whatever it is."""
        fds = []
        header = self._exactly(HEADER.size, fds)
        message_id, command, size, flags, error = HEADER.unpack(header)
        expect(size >= HEADER.size, f"message of {size} bytes, less than a header")
        expect(flags & TYPE_MASK in (COMMAND, REPLY), f"message of no type: flags {flags:#x}")
        expect(flags & ~(TYPE_MASK | NO_REPLY | ERROR) == 0, f"flags {flags:#x} that the protocol does not have")
        return Message(message_id, command, flags, error, self._exactly(size - HEADER.size, fds), fds)

    def answer_to(self, command, message_id):
        """The reply to a command that was posted. Serves the commands that come before it. Raises Refused for an error."""
        while True:
            message = self.receive()
            if not message.is_reply:
                self._answer(message)
                continue
            expect(message.message_id == message_id, f"reply to message {message.message_id}, not {message_id}")
            expect(message.command == command, f"reply to command {message.command}, not {command}")
            expect(message.flags & NO_REPLY == 0, "a reply with the flag No_reply")
            if message.flags & ERROR:
                expect(not message.payload, f"error reply with {len(message.payload)} bytes behind its header")
                raise Refused(message.error)
            return message

    def call(self, command, payload=b"", fds=()):
        return self.answer_to(command, self.post(command, payload, fds))

    def serve_for(self, seconds):
        """Serves commands of the server until none comes any more or the time is over. Returns how many."""
        before, end = self.served, time.monotonic() + seconds
        while select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
            message = self.receive()
            expect(not message.is_reply, "a reply that answers nothing")
            self._answer(message)
        return self.served - before

    def is_silent(self, seconds=0.2):
        """True: the server has sent nothing and not closed either."""
        return not select.select([self.socket], [], [], seconds)[0]

    def _answer(self, message):
        expect(message.command in (11, 12), f"the server sends command {message.command}")
        expect(self.serve is not None, "the server asks for memory that was not mapped for messages")
        self.served += 1
        try:
            payload, flags, error = self.serve(message), REPLY, 0
        except Refused as refusal:
            payload, flags, error = b"", REPLY | ERROR, refusal.number
        if message.flags & NO_REPLY == 0:
            self.send(frame(message.message_id, message.command, payload, flags, error))

    def _exactly(self, size, fds):
        data = b""
        while len(data) < size:
            try:
                part, rights, _, _ = self.socket.recvmsg(size - len(data), socket.CMSG_SPACE(4 * MOST_FDS))
            except ConnectionResetError as error:
                raise Closed from error
            for level, kind, content in rights:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    fds += struct.unpack(f"{len(content) // 4}i", content[:len(content) // 4 * 4])
            if not part:
                expect(not data, "the server ends in the middle of a message")
                raise Closed
            data += part
        return data
