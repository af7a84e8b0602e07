"""CRC-32C (Castagnoli), bit by bit over a table: reflected polynomial 0x82F63B78, all ones before and after."""


def _entry(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


TABLE = [_entry(byte) for byte in range(256)]


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283
