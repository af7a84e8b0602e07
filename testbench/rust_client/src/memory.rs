//! Memory that another process can map, and an eventfd.
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

pub const PAGE: usize = 4096;

fn failed(what: &str) -> String {
    format!("{what}: {}", std::io::Error::last_os_error())
}

/// A memfd, mapped here.
pub struct Memory {
    fd: OwnedFd,
    data: *mut u8,
    bytes: usize,
}

impl Memory {
    pub fn new(bytes: usize) -> Result<Memory, String> {
        // SAFETY: the name is a C string; the descriptor is new and owned here; the mapping is of that file and ends with it.
        unsafe {
            let fd = libc::memfd_create(c"rust client".as_ptr(), libc::MFD_CLOEXEC);
            if fd < 0 {
                return Err(failed("memfd_create"));
            }
            let fd = OwnedFd::from_raw_fd(fd);
            if libc::ftruncate(fd.as_raw_fd(), bytes as libc::off_t) != 0 {
                return Err(failed("ftruncate"));
            }
            let data = libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, fd.as_raw_fd(), 0);
            if data == libc::MAP_FAILED {
                return Err(failed("mmap"));
            }
            Ok(Memory { fd, data: data.cast(), bytes })
        }
    }

    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    pub fn put(&mut self, offset: usize, data: &[u8]) {
        assert!(offset + data.len() <= self.bytes);
        for (i, byte) in data.iter().enumerate() {
            // SAFETY: inside of the mapping, as asserted.
            unsafe { self.data.add(offset + i).write_volatile(*byte) };
        }
    }

    pub fn at<const BYTES: usize>(&self, offset: usize) -> [u8; BYTES] {
        assert!(offset + BYTES <= self.bytes);
        // SAFETY: inside of the mapping, as asserted.
        std::array::from_fn(|i| unsafe { self.data.add(offset + i).read_volatile() })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: made by new(), and nothing refers to it any more.
        unsafe { libc::munmap(self.data.cast(), self.bytes) };
    }
}

pub struct EventFd(OwnedFd);

impl EventFd {
    pub fn new() -> Result<EventFd, String> {
        // SAFETY: the descriptor is new and owned here.
        unsafe {
            let fd = libc::eventfd(0, libc::EFD_CLOEXEC);
            if fd < 0 {
                return Err(failed("eventfd"));
            }
            Ok(EventFd(OwnedFd::from_raw_fd(fd)))
        }
    }

    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// How often it was signalled.
    pub fn wait(&self, patience: Duration) -> Result<u64, String> {
        let mut polled = libc::pollfd { fd: self.fd(), events: libc::POLLIN, revents: 0 };
        let mut count = 0u64;
        // SAFETY: both point at values of this function, of the sizes that are given.
        unsafe {
            if libc::poll(&mut polled, 1, patience.as_millis() as libc::c_int) != 1 {
                return Err("no interrupt".into());
            }
            if libc::read(self.fd(), (&raw mut count).cast(), 8) != 8 {
                return Err(failed("eventfd"));
            }
        }
        Ok(count)
    }
}
