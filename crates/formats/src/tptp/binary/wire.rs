//! Numbers and names in files of the format.

/// The only major version.
pub(super) const MAJOR: u8 = 1;

/// Bytes of the stream's header.
pub(super) const HEADER_SIZE: usize = 12;

/// Bytes of a message's id and size.
pub(super) const MESSAGE_HEAD: usize = 6;

/// First id of data messages; lower ids belong to system messages.
pub(super) const DATA: u16 = 1001;

/// Last id of data messages.
pub(super) const LAST_ID: u16 = 0x7fff;

/// Id of the message that names the character set.
pub(super) const ENCODING: u16 = 1;
/// Id of the message with the number of ticks per second.
pub(super) const FREQUENCY: u16 = 2;

/// Ticks per second that our encoder writes, and the default without message 2.
pub(super) const NANOSECONDS: i64 = 1_000_000_000;

/// Messages 1 and 2 as our encoder writes them: UTF-8 and 10⁹ ticks per second.
pub(super) const SYSTEM: &[u8] = b"\x01\x00\x0b\x00\x00\x00UTF8\x00\
    \x02\x00\x0e\x00\x00\x00\x00\xca\x9a\x3b\x00\x00\x00\x00";
