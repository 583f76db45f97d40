//! The shared memory of a block, with a record of writes and accesses.

use crate::FaultKind;
use crate::race::Accesses;

/// The largest shared memory of a block on any GPU: 227 KiB, on compute capability 9.0.
pub const MAXIMUM_SHARED_BYTES: u32 = 227 * 1024;

pub(crate) struct SharedMemory {
    bytes: Vec<u8>,
    written: Vec<bool>,
    /// The accesses of lanes.
    pub(crate) accesses: Accesses,
}

impl SharedMemory {
    pub(crate) fn new(size: u32) -> Self {
        let size = size as usize;
        Self { bytes: vec![0; size], written: vec![false; size], accesses: Accesses::default() }
    }

    pub(crate) fn size(&self) -> u32 {
        // The size was a `u32` when created.
        self.bytes.len() as u32
    }

    pub(crate) fn read(&self, offset: u32, into: &mut [u8]) -> Result<(), FaultKind> {
        let start = offset as usize;
        let range = start..start.saturating_add(into.len());
        let (Some(bytes), Some(written)) = (self.bytes.get(range.clone()), self.written.get(range)) else {
            return Err(self.outside("shared load", offset, into.len()));
        };
        if let Some(missing) = written.iter().position(|&written| !written) {
            return Err(FaultKind::SharedUninitialized { offset: offset + missing as u32 });
        }
        into.copy_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn write(&mut self, offset: u32, from: &[u8]) -> Result<(), FaultKind> {
        let start = offset as usize;
        let range = start..start.saturating_add(from.len());
        let (Some(bytes), Some(written)) = (self.bytes.get_mut(range.clone()), self.written.get_mut(range)) else {
            return Err(self.outside("shared store", offset, from.len()));
        };
        bytes.copy_from_slice(from);
        written.fill(true);
        Ok(())
    }

    fn outside(&self, access: &'static str, offset: u32, length: usize) -> FaultKind {
        FaultKind::SharedOutOfBounds { access, offset, length, size: self.size() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_written_bytes_can_be_read() {
        let mut memory = SharedMemory::new(16);
        assert_eq!(memory.size(), 16);
        memory.write(4, &[1, 2, 3]).unwrap();
        let mut three = [0; 3];
        memory.read(4, &mut three).unwrap();
        assert_eq!(three, [1, 2, 3]);
        assert_eq!(memory.read(5, &mut three), Err(FaultKind::SharedUninitialized { offset: 7 }));
        assert_eq!(memory.read(3, &mut three), Err(FaultKind::SharedUninitialized { offset: 3 }));
    }

    #[test]
    fn bounds() {
        let mut memory = SharedMemory::new(8);
        memory.write(0, &[7; 8]).unwrap();
        memory.read(8, &mut []).unwrap();
        let outside = |access, offset, length| Err(FaultKind::SharedOutOfBounds { access, offset, length, size: 8 });
        assert_eq!(memory.read(7, &mut [0; 2]), outside("shared load", 7, 2));
        assert_eq!(memory.read(u32::MAX, &mut [0; 4]), outside("shared load", u32::MAX, 4));
        assert_eq!(memory.write(8, &[0]), outside("shared store", 8, 1));
    }
}
