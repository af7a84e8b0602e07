//! The smallest driver of a Weft device. Numbers and layouts are those of docs/reference.
use std::time::{Duration, Instant};

use vfio_user::Client;

use crate::memory::{EventFd, Memory, PAGE};

pub type Outcome<T = ()> = Result<T, String>;

const BAR0: u32 = 0;
const BAR2: u32 = 2;
const CONFIG: u32 = 7;
const MSIX: u32 = 2;
const DATA_EVENTFD: u32 = 1 << 2;
const ACTION_TRIGGER: u32 = 1 << 5;

const VENDOR_AND_DEVICE: u32 = 0x7ef7_1ae1;
const MAGIC: u32 = 0x5446_4557;
const ABI_MAJOR: u32 = 1;
const R_MAGIC: u64 = 0x00;
const R_ABI_VERSION: u64 = 0x04;
const R_CHIP_FINGERPRINT: u64 = 0x08;
const R_DEVICE_STATE: u64 = 0x14;
const R_RESET_GENERATION: u64 = 0x3c;
const R_PARAMETER_PAGE: u64 = 0x50;
const R_BOOT_CONTROL: u64 = 0x58;
const STATE_PRESENT: u32 = 1;
const STATE_READY: u32 = 3;
const STATE_FAILED: u32 = 6;
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the device sees the memory, and what lies where in it: rings of 32 entries, log, fault log, parameter page.
const BASE: u64 = 0x1000_0000;
const SUBMISSIONS: usize = 0;
const COMPLETIONS: usize = PAGE;
const LOG: usize = 2 * PAGE;
const FAULTS: usize = 4 * PAGE;
const PARAMETERS: usize = 8 * PAGE;
const MEMORY_BYTES: usize = 9 * PAGE;
const ANSWER_NONCE: usize = 80;
const SET_LOG_LEVEL: u8 = 71;
const FLAG_INTERRUPT: u8 = 2;

pub struct Device {
    client: Client,
    memory: Memory,
}

/// CRC-32C, bit by bit.
fn crc32c(data: &[u8]) -> u32 {
    let mut value = !0u32;
    for byte in data {
        value ^= u32::from(*byte);
        for _ in 0..8 {
            value = if value & 1 != 0 { value >> 1 ^ 0x82f6_3b78 } else { value >> 1 };
        }
    }
    !value
}

impl Device {
    pub fn new(client: Client) -> Outcome<Device> {
        Ok(Device { client, memory: Memory::new(MEMORY_BYTES)? })
    }

    fn read<const BYTES: usize>(&mut self, region: u32, offset: u64) -> Outcome<[u8; BYTES]> {
        let mut data = [0; BYTES];
        self.client.region_read(region, offset, &mut data).map_err(|error| format!("reading region {region} at {offset:#x}: {error}"))?;
        Ok(data)
    }

    fn register(&mut self, offset: u64) -> Outcome<u32> {
        self.read(BAR0, offset).map(u32::from_le_bytes)
    }

    fn write(&mut self, region: u32, offset: u64, data: &[u8]) -> Outcome {
        self.client.region_write(region, offset, data).map_err(|error| format!("writing region {region} at {offset:#x}: {error}"))
    }

    fn until(&mut self, states: &[u32]) -> Outcome<u32> {
        let end = Instant::now() + PATIENCE;
        loop {
            let state = self.register(R_DEVICE_STATE)?;
            if states.contains(&state) {
                return Ok(state);
            }
            if Instant::now() > end {
                return Err(format!("the device stays in state {state}"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn identity(&mut self) -> Outcome<String> {
        let device = u32::from_le_bytes(self.read(CONFIG, 0)?);
        let (magic, version) = (self.register(R_MAGIC)?, self.register(R_ABI_VERSION)?);
        if device != VENDOR_AND_DEVICE || magic != MAGIC || version >> 16 != ABI_MAJOR {
            return Err(format!("no Weft device: {device:#x}, magic {magic:#x}, ABI {version:#x}"));
        }
        let byte: [u8; 1] = self.read(BAR0, R_MAGIC + 1)?;
        if u32::from(byte[0]) != MAGIC >> 8 & 0xff {
            return Err(format!("byte 1 of the magic number reads as {:#x}", byte[0]));
        }
        let fingerprint = u64::from_le_bytes(self.read(BAR0, R_CHIP_FINGERPRINT)?);
        let bar0 = self.client.region(BAR0).map_or(0, |region| region.size);
        let irqs = self.client.get_irq_info(MSIX).map_err(|error| error.to_string())?.count;
        Ok(format!("chip {fingerprint:#018x}, ABI {}.{}, BAR0 of {bar0} bytes, {irqs} vectors", version >> 16, version & 0xffff))
    }

    pub fn map_memory(&mut self) -> Outcome<String> {
        self.client.dma_map(0, BASE, MEMORY_BYTES as u64, self.memory.fd()).map_err(|error| format!("dma_map: {error}"))?;
        Ok(format!("{MEMORY_BYTES} bytes at {BASE:#x}"))
    }

    pub fn boot(&mut self, nonce: u64) -> Outcome<String> {
        let mut page = Vec::new();
        page.extend(MAGIC.to_le_bytes());
        page.extend((ABI_MAJOR << 16).to_le_bytes());
        page.extend(nonce.to_le_bytes());
        for place in [SUBMISSIONS, COMPLETIONS, LOG, FAULTS] {
            page.extend((BASE + place as u64).to_le_bytes());
        }
        page.extend(0u64.to_le_bytes());
        self.memory.put(PARAMETERS, &page);
        self.write(BAR0, R_PARAMETER_PAGE, &(BASE + PARAMETERS as u64).to_le_bytes())?;
        self.write(BAR0, R_BOOT_CONTROL, &1u32.to_le_bytes())?;
        if self.until(&[STATE_READY, STATE_FAILED])? != STATE_READY {
            return Err("the boot failed".into());
        }
        let answer = u64::from_le_bytes(self.memory.at::<8>(PARAMETERS + ANSWER_NONCE));
        if answer != nonce {
            return Err(format!("the firmware answers nonce {answer:#x} in memory, not {nonce:#x}"));
        }
        Ok(format!("ready, the firmware has written nonce {answer:#x} into memory"))
    }

    /// An admin command with its completion in memory and its interrupt on vector 0.
    pub fn interrupt(&mut self) -> Outcome<String> {
        let event = EventFd::new()?;
        self.client.set_irqs(MSIX, DATA_EVENTFD | ACTION_TRIGGER, 0, 1, &[event.fd()]).map_err(|error| format!("set_irqs: {error}"))?;
        let mut entry = vec![0u8; 60];
        entry[0] = SET_LOG_LEVEL;
        entry[1] = FLAG_INTERRUPT;
        entry[32..40].copy_from_slice(&2u64.to_le_bytes());
        let check = crc32c(&entry);
        entry.extend(check.to_le_bytes());
        self.memory.put(SUBMISSIONS, &entry);
        self.write(BAR2, 0, &1u32.to_le_bytes())?;
        // What was pending from before the boot comes as well: the completion is there with the last interrupt.
        let status = loop {
            event.wait(PATIENCE)?;
            let status = u32::from_le_bytes(self.memory.at::<4>(COMPLETIONS + 28));
            if status & 1 == 1 {
                break status;
            }
        };
        if status >> 5 & 0x7fff != 0 {
            return Err(format!("the completion's status is {status:#x}"));
        }
        Ok("on vector 0, with the completion of an admin command".into())
    }

    pub fn unmap_memory(&mut self) -> Outcome<String> {
        self.client.dma_unmap(BASE, MEMORY_BYTES as u64).map_err(|error| format!("dma_unmap: {error}"))?;
        Ok("done".into())
    }

    pub fn reset(&mut self) -> Outcome<String> {
        let before = self.register(R_RESET_GENERATION)?;
        self.client.reset().map_err(|error| format!("reset: {error}"))?;
        self.until(&[STATE_PRESENT])?;
        let after = self.register(R_RESET_GENERATION)?;
        if after != before + 1 {
            return Err(format!("generation {after} after {before}"));
        }
        Ok(format!("generation {after}"))
    }
}
