//! The opening of a trace: events about the machine, the process, the agent and the options.

use jtrail_model::{
    AgentCreate, Cost, Event, Filter, Node, ProcessCreate, Timestamp, TraceOption, TraceStart,
};
use jtrail_options::Options;
use std::ffi::CStr;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Name of the agent in traces.
const AGENT_NAME: &str = "jtrail";

/// Ids to which later events refer.
#[derive(Default)]
pub(crate) struct Identity {
    pub agent_id: String,
}

/// Passes the opening events to `emit`, in order. Returns the ids that later events need.
pub(crate) fn opening(
    options: &Options,
    cost: Cost,
    loaded: Timestamp,
    started: Timestamp,
    mut emit: impl FnMut(&Event<'_>),
) -> Identity {
    let (node_id, process_id, agent_id, trace_id) = (node_id(), uuid(), uuid(), uuid());
    emit(&Event::Node(Node {
        node_id: (&*node_id).into(),
        hostname: hostname().into(),
        ip_address: addresses().into(),
        timezone: minutes_west(loaded),
        time: loaded,
    }));
    emit(
        &ProcessCreate {
            process_id: (&*process_id).into(),
            pid: std::process::id() as i32,
            node_id: (&*node_id).into(),
            time: loaded,
            ..ProcessCreate::default()
        }
        .into(),
    );
    emit(
        &AgentCreate {
            agent_id: (&*agent_id).into(),
            process_id: (&*process_id).into(),
            name: AGENT_NAME.into(),
            agent_type: "Profiler".into(),
            time: loaded,
            parameters: (&*options.text).into(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
        .into(),
    );
    emit(&Event::TraceStart(TraceStart {
        trace_id: (&*trace_id).into(),
        agent_id: (&*agent_id).into(),
        time: started,
    }));
    if options.write_filters {
        for rule in options.filter.rules() {
            let mode = if rule.include { "INCLUDE" } else { "EXCLUDE" };
            emit(
                &Filter {
                    trace_id: (&*trace_id).into(),
                    pattern: rule.class.text().into(),
                    generic_pattern: rule.class.generic().into(),
                    mode: mode.into(),
                    method_pattern: rule.method.text().into(),
                    method_generic_pattern: rule.method.generic().into(),
                    method_mode: mode.into(),
                }
                .into(),
            );
        }
    }
    if options.write_options {
        for (key, value) in options.in_force() {
            emit(&Event::Option(TraceOption {
                key: key.into(),
                value: value.into(),
            }));
        }
    }
    for option in cost.options() {
        emit(&Event::Option(option));
    }
    Identity { agent_id }
}

/// Returns an identity of the machine that is constant until it is rebooted.
fn node_id() -> String {
    match fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        Ok(id) if !id.trim().is_empty() => id.trim().to_owned(),
        _ => hostname_or("localhost"),
    }
}

/// Returns a new random UUID.
fn uuid() -> String {
    let mut bytes = [0_u8; 16];
    // SAFETY: the call writes at most `bytes.len()` bytes to `bytes`.
    let filled = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if filled != 16 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = now.unwrap_or_default().as_nanos() ^ u128::from(std::process::id()) << 96;
        bytes = nanos.to_be_bytes();
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

fn hostname_or(other: &str) -> String {
    let name = hostname();
    if name.is_empty() {
        other.to_owned()
    } else {
        name
    }
}

/// Returns the host name; empty if unknown.
pub fn hostname() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: the call writes at most `name.len() - 1` bytes to `name`, so the last one stays 0.
    let result = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    match CStr::from_bytes_until_nul(&name) {
        Ok(name) if result == 0 => name.to_string_lossy().into_owned(),
        _ => String::new(),
    }
}

/// Returns the machine's addresses, joined with `,`, with loopback addresses last.
fn addresses() -> String {
    let mut list = std::ptr::null_mut();
    // SAFETY: the call stores a list in `list`, which is freed below.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return String::new();
    }
    let mut found: Vec<IpAddr> = Vec::new();
    let mut next = list;
    while !next.is_null() {
        // SAFETY: `next` is a node of the list, which exists until `freeifaddrs`.
        let node = unsafe { &*next };
        next = node.ifa_next;
        if node.ifa_addr.is_null() {
            continue;
        }
        // SAFETY: an address begins with its family, which determines its type and length.
        let address = unsafe {
            match i32::from((*node.ifa_addr).sa_family) {
                libc::AF_INET => {
                    let v4 = &*node.ifa_addr.cast::<libc::sockaddr_in>();
                    IpAddr::from(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)))
                }
                libc::AF_INET6 => {
                    let v6 = &*node.ifa_addr.cast::<libc::sockaddr_in6>();
                    IpAddr::from(Ipv6Addr::from(v6.sin6_addr.s6_addr))
                }
                _ => continue,
            }
        };
        if !found.contains(&address) {
            found.push(address);
        }
    }
    // SAFETY: `getifaddrs` allocated the list, and it is not used after this.
    unsafe { libc::freeifaddrs(list) };
    found.sort_by_key(IpAddr::is_loopback);
    found
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

/// Returns the time zone in minutes west of UTC.
fn minutes_west(at: Timestamp) -> i32 {
    let seconds = at.0.div_euclid(1_000_000_000) as libc::time_t;
    // SAFETY: all zeros are a valid `tm`.
    let mut parts: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers point to local variables.
    let known = !unsafe { libc::localtime_r(&seconds, &mut parts) }.is_null();
    if known {
        (-parts.tm_gmtoff / 60) as i32
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_look_like_uuids_and_differ() {
        let (a, b) = (uuid(), uuid());
        assert_ne!(a, b);
        assert_eq!(a.len(), 36);
        assert_eq!(&a[14..15], "4", "{a}");
    }

    #[test]
    fn loopback_comes_last() {
        let all = addresses();
        let last = all.rsplit(',').next().unwrap_or_default();
        assert!(
            all.is_empty() || last.parse::<IpAddr>().is_ok_and(|a| a.is_loopback()),
            "{all}"
        );
    }
}
