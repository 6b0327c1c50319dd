//! Numbers and names that stand in files of the format.

/// Major version: the only one there is.
pub(super) const MAJOR: u8 = 1;

/// Bytes of the stream's header.
pub(super) const HEADER_SIZE: usize = 12;

/// Bytes of a message's id and size.
pub(super) const MESSAGE_HEAD: usize = 6;

/// First id of data messages; those below are the system's.
pub(super) const DATA: u16 = 1001;

/// Last id of data messages.
pub(super) const LAST_ID: u16 = 0x7fff;
