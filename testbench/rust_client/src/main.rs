//! Attaches to a weft-sim through the crate vfio_user: reads the identity, lets the device reach memory, boots it, and
//! takes the interrupt of an admin command. Prints a line for each step; the first that fails ends it with code 1.
//!
//! usage: rust_client SOCKET
mod device;
mod memory;

use std::path::Path;
use std::process::ExitCode;

use device::{Device, Outcome};
use vfio_user::Client;

fn steps(socket: &Path) -> Outcome {
    let client = Client::new(socket).map_err(|error| format!("{}: {error}", socket.display()))?;
    let mut device = Device::new(client)?;
    println!("identity: {}", device.identity()?);
    println!("memory: {}", device.map_memory()?);
    println!("boot: {}", device.boot(0x5eed)?);
    println!("interrupt: {}", device.interrupt()?);
    println!("unmap: {}", device.unmap_memory()?);
    println!("reset: {}", device.reset()?);
    Ok(())
}

fn main() -> ExitCode {
    let Some(socket) = std::env::args().nth(1) else {
        eprintln!("usage: rust_client SOCKET");
        return ExitCode::from(2);
    };
    match steps(Path::new(&socket)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("rust_client: {why}");
            ExitCode::FAILURE
        }
    }
}
