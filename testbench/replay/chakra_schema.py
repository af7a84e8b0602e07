"""The public schema of Chakra execution traces (MLCommons, version 0.0.4), read a second time, as Python protobuf's own messages: traces that no code of weft has written, and
a reader of those that it writes. Nothing here comes from base/chakra."""
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal.decoder import _DecodeVarint32
from google.protobuf.internal.encoder import _VarintBytes

F = descriptor_pb2.FieldDescriptorProto
SCALARS = ("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes")
NODE_TYPES = ("INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE", "STORAGE_NODE", "BATCH_NODE", "CHECKPOINT_NODE")
COLLECTIVES = ("ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER")


def _field(message, name, number, kind, label=F.LABEL_OPTIONAL, type_name=None, oneof=None):
    field = message.field.add(name=name, number=number, label=label, type=getattr(F, f"TYPE_{kind.upper()}"))
    if type_name:
        field.type_name = f".ChakraProtoMsg.{type_name}"
    if oneof is not None:
        field.oneof_index = oneof


def _file():
    file = descriptor_pb2.FileDescriptorProto(name="weft_et_def.proto", package="ChakraProtoMsg", syntax="proto3")
    for name, words in (("NodeType", NODE_TYPES), ("CollectiveCommType", COLLECTIVES)):
        enum = file.enum_type.add(name=name)
        for number, word in enumerate(words):
            enum.value.add(name=word, number=number)
    for scalar in SCALARS:
        _field(file.message_type.add(name=f"{scalar.capitalize()}List"), "values", 1, scalar, F.LABEL_REPEATED)
    attribute = file.message_type.add(name="AttributeProto")
    _field(attribute, "name", 1, "string")
    _field(attribute, "doc_string", 2, "string")
    attribute.oneof_decl.add(name="value")
    for place, scalar in enumerate(SCALARS):
        _field(attribute, f"{scalar}_val", 3 + 2 * place, scalar, oneof=0)
        _field(attribute, f"{scalar}_list", 4 + 2 * place, "message", type_name=f"{scalar.capitalize()}List", oneof=0)
    metadata = file.message_type.add(name="GlobalMetadata")
    _field(metadata, "version", 1, "string")
    _field(metadata, "attr", 2, "message", F.LABEL_REPEATED, "AttributeProto")
    io = file.message_type.add(name="IOInfo")
    for number, name in enumerate(("values", "shapes", "types"), 1):
        _field(io, name, number, "string")
    node = file.message_type.add(name="Node")
    _field(node, "id", 1, "uint64")
    _field(node, "name", 2, "string")
    _field(node, "type", 3, "enum", type_name="NodeType")
    _field(node, "ctrl_deps", 4, "uint64", F.LABEL_REPEATED)
    _field(node, "data_deps", 5, "uint64", F.LABEL_REPEATED)
    _field(node, "start_time_micros", 6, "uint64")
    _field(node, "duration_micros", 7, "uint64")
    _field(node, "inputs", 8, "message", type_name="IOInfo")
    _field(node, "outputs", 9, "message", type_name="IOInfo")
    _field(node, "attr", 10, "message", F.LABEL_REPEATED, "AttributeProto")
    return file


_POOL = descriptor_pool.DescriptorPool()
_POOL.Add(_file())
AttributeProto, GlobalMetadata, Node = (message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"ChakraProtoMsg.{name}")) for name in ("AttributeProto", "GlobalMetadata", "Node"))


def node(number, kind, name="", after=(), micros=0, kinds=None, **attributes):
    """A node. attributes: True and False are bool_val, words string_val, numbers uint64_val or as `kinds` says: {"comm_type": "int64"}."""
    out = Node(id=number, name=name, type=NODE_TYPES.index(kind), data_deps=after, duration_micros=micros)
    for key, value in attributes.items():
        scalar = (kinds or {}).get(key) or ("bool" if isinstance(value, bool) else "string" if isinstance(value, str) else "uint64")
        out.attr.add(name=key, **{f"{scalar}_val": value})
    return out


def compute(number, micros, after=(), **attributes):
    return node(number, "COMP_NODE", f"compute {number}", after, micros, is_cpu_op=attributes.pop("is_cpu_op", False), **attributes)


def collective(number, kind, size, after=(), **attributes):
    return node(number, "COMM_COLL_NODE", kind.lower(), after, is_cpu_op=False, comm_type=COLLECTIVES.index(kind), comm_size=size, kinds={"comm_type": "int64"}, **attributes)


def send(number, to, size, after=(), tag=0, **attributes):
    return node(number, "COMM_SEND_NODE", f"to {to}", after, comm_dst=to, comm_size=size, comm_tag=tag, **attributes)


def receive(number, source, size, after=(), tag=0, **attributes):
    return node(number, "COMM_RECV_NODE", f"from {source}", after, comm_src=source, comm_size=size, comm_tag=tag, **attributes)


def to_bytes(nodes, version="0.0.4"):
    """A file: each message behind its length."""
    parts = []
    for message in (GlobalMetadata(version=version), *nodes):
        text = message.SerializeToString()
        parts += [_VarintBytes(len(text)), text]
    return b"".join(parts)


def from_bytes(text):
    """Metadata and nodes of a file; ValueError: it is none."""
    messages, at = [], 0
    while at < len(text):
        length, at = _DecodeVarint32(text, at)
        if at + length > len(text):
            raise ValueError(f"a message of {length} bytes at byte {at} of {len(text)}")
        messages.append((GlobalMetadata if not messages else Node).FromString(text[at:at + length]))
        at += length
    return messages[0], messages[1:]


def attributes_of(message):
    """Name to (scalar, value) of a node."""
    return {a.name: (a.WhichOneof("value").removesuffix("_val"), getattr(a, a.WhichOneof("value"))) for a in message.attr}
