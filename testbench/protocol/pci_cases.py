"""Configuration space, BARs and MSI-X, as PCI software reads them."""
import pci
import vfio_user as vu
from pci import Function
from simulator import SimulatorCase
from vfio_user import errno_of


class Pci(SimulatorCase):
    def test_the_header_is_that_of_an_endpoint(self):
        function = Function(self.client())
        self.assertNotIn(function.get(pci.VENDOR, 2), (0, 0xFFFF))
        self.assertEqual(function.get(pci.HEADER_TYPE, 1) & 0x7F, 0)
        self.assertEqual(function.get(pci.VENDOR, 4), function.get(pci.VENDOR, 2) | function.get(pci.DEVICE, 2) << 16)
        self.assertEqual(function.get(pci.CLASS + 2, 1), 0x12)  # processing accelerator

    def test_bars_have_the_sizes_of_their_regions(self):
        client = self.client()
        bars = Function(client).bars()
        self.assertTrue(bars)
        sizes = {bar.index: bar.size for bar in bars}
        for index in range(6):
            self.assertEqual(client.region_info(index).size, sizes.get(index, 0), f"BAR {index}")

    def test_a_bar_holds_an_address_and_not_its_type_bits(self):
        function = Function(self.client())
        for bar in function.bars():
            at = pci.BARS + 4 * bar.index
            bits = function.get(at, 4) & 0xF
            function.put(at, 4, 0xFEDC0000 & ~(bar.size - 1) | 0xF)
            self.assertEqual(function.get(at, 4) & 0xF, bits)
            self.assertEqual(function.get(at, 4) & ~0xF, 0xFEDC0000 & ~(bar.size - 1))

    def test_what_is_read_only_stays(self):
        function = Function(self.client())
        for offset, size in ((pci.VENDOR, 4), (pci.REVISION, 4), (pci.CAPABILITIES, 1), (pci.INTERRUPT_PIN, 1), (0x2C, 4)):
            before = function.get(offset, size)
            function.put(offset, size, ~before & ((1 << 8 * size) - 1))
            self.assertEqual(function.get(offset, size), before, f"{offset:#x}")

    def test_the_command_register_keeps_memory_space_and_bus_master(self):
        function = Function(self.client())
        self.assertEqual(function.get(pci.COMMAND, 2) & (pci.MEMORY_SPACE | pci.BUS_MASTER), 0)
        function.enable()
        self.assertEqual(function.get(pci.COMMAND, 2), pci.MEMORY_SPACE | pci.BUS_MASTER | pci.INTX_DISABLE)
        function.put(pci.COMMAND, 2, 0xFFFF)
        self.assertEqual(function.get(pci.COMMAND, 2) & 0xF801, 0, "reserved bits, or I/O space of a function that has none")
        function.put(pci.COMMAND, 1, 0)
        self.assertEqual(function.get(pci.COMMAND, 1), 0)

    def test_configuration_space_takes_every_size_and_place_of_a_dword(self):
        function = Function(self.client())
        whole = function.client.read(vu.CONFIG, 0, pci.CONFIG_BYTES)
        for at in range(0, pci.CONFIG_BYTES, 4):
            for size, places in ((1, range(4)), (2, (0, 2)), (4, (0,))):
                for place in places:
                    self.assertEqual(function.get(at + place, size), int.from_bytes(whole[at + place:at + place + size], "little"))

    def test_table_and_pending_bits_lie_in_their_bar_and_not_on_each_other(self):
        client = self.client()
        function = Function(client)
        _, vectors, (table_bar, table), (pending_bar, pending) = function.msix()
        self.assertEqual(vectors, client.irq_info(vu.MSIX)[1])
        sizes = {bar.index: bar.size for bar in function.bars()}
        table_end, pending_end = table + vectors * pci.MSIX_ENTRY, pending + (vectors + 63) // 64 * 8
        self.assertLessEqual(table_end, sizes[table_bar])
        self.assertLessEqual(pending_end, sizes[pending_bar])
        self.assertTrue(table_bar != pending_bar or table_end <= pending or pending_end <= table)

    def test_a_vector_is_masked_at_power_up_and_its_reserved_bits_read_zero(self):
        client = self.client()
        _, vectors, (bar, table), _ = Function(client).msix()
        for vector in range(vectors):
            self.assertEqual(client.number(bar, table + vector * pci.MSIX_ENTRY + 12, 4), pci.VECTOR_MASKED)
        client.put_number(bar, table + 12, 4, 0xFFFFFFFE)
        self.assertEqual(client.number(bar, table + 12, 4) & 1, 0)

    def test_pending_bits_are_read_only(self):
        client = self.client()
        _, _, _, (bar, pending) = Function(client).msix()
        client.put_number(bar, pending, 8, 0xFFFFFFFFFFFFFFFF)
        self.assertEqual(client.number(bar, pending, 8), 0)

    def test_only_enable_and_function_mask_of_message_control_can_be_written(self):
        function = Function(self.client())
        at, vectors, _, _ = function.msix()
        function.put(at + 2, 2, 0xFFFF)
        self.assertEqual(function.get(at + 2, 2), pci.MSIX_ENABLE | pci.MSIX_FUNCTION_MASK | (vectors - 1))
        function.put(at + 2, 2, 0)
        self.assertEqual(function.get(at + 2, 2), vectors - 1)

    def test_a_function_level_reset_is_that_of_the_text(self):
        client = self.client()
        function = Function(client)
        at = function.capabilities()[pci.CAP_PCIE]
        self.assertEqual(function.get(at + 2, 2) & 0xF, 2, "version of the PCI Express capability")
        self.assertTrue(function.get(at + pci.DEVICE_CAPABILITIES, 4) & pci.FLR_CAPABLE)
        function.enable()
        _, _, (bar, table), _ = function.msix()
        client.put_number(bar, table, 4, 0xFEE00000)
        function.put(at + pci.DEVICE_CONTROL, 2, function.get(at + pci.DEVICE_CONTROL, 2) | pci.FLR_START)
        self.assertEqual(function.get(at + pci.DEVICE_CONTROL, 2) & pci.FLR_START, 0)
        self.assertEqual(function.get(pci.COMMAND, 2), 0)
        self.assertEqual(client.number(bar, table, 4), 0)
        self.assertEqual(errno_of(client.device_info), 0)
