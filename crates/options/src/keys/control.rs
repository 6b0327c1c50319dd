//! Keys about who starts and ends the trace: clients, the program, bursts.

use super::{put, text};
use crate::key::{KEY, Key, Subject};
use crate::options::Options;
use crate::socket::Control;
use crate::value::{Compat, Server, duration_text, parse_duration};

pub(super) const SUBJECT: Subject = Subject {
    title: "Begin, end and clients",
    keys: &[
        Key {
            name: "server",
            words: Server::WORDS,
            help: "What begins and ends the trace: the agent itself, a client that may \
                   connect, a client that the program waits for, or the program itself \
                   (docs/api.md)",
            set: |builder, value| put(&mut builder.options.server, Server::parse(value)),
            show: |options| text(options.server),
            ..KEY
        },
        Key {
            name: "control",
            values: "path with the letters of file, or off",
            default_note: "off with server=standalone, else PID.sock in the user's runtime directory",
            help: "Socket of the command channel; a path alone means server=enabled",
            is_path: true,
            set: |builder, value| put(&mut builder.options.control, Control::parse(value)),
            show: |options| options.control.text().map(str::to_owned),
            ..KEY
        },
        Key {
            name: "wait",
            values: "time like 500us, 10ms, 2s, 1m or 1h",
            help: "With server=controlled: how long the program waits for the client",
            set: |builder, value| put(&mut builder.options.wait, parse_duration(value)),
            show: |options| text(duration_text(options.wait)),
            matters: has_clients,
            ..KEY
        },
        Key {
            name: "linger",
            values: "time like 500us, 10ms, 2s, 1m or 1h",
            default_note: "for ever; jtrail record: 5s",
            help: "Time without a connected client after which the agent ends the trace and \
                   detaches",
            set: |builder, value| put(&mut builder.options.linger, parse_duration(value).map(Some)),
            show: |options| options.linger.map(duration_text),
            matters: has_clients,
            ..KEY
        },
        Key {
            name: "compat",
            words: Compat::WORDS,
            help: "Protocol version for clients: the current one, or that of TPTP before \
                   4.5",
            set: |builder, value| put(&mut builder.options.compat, Compat::parse(value)),
            show: |options| text(options.compat),
            matters: has_clients,
            ..KEY
        },
        Key {
            name: "burst",
            values: "call:METHOD[:N], slow:METHOD:TIME, exception:CLASS, at:TIME or every:TIME, \
                     and /TIME or /EVENTS",
            default_note: "none; a burst without limit takes 10s",
            help: "Record only for a while, each time this happens",
            set: |builder, value| builder.add_burst(value),
            show_each: Some(|options| {
                let bursts = options.bursts.iter();
                bursts.map(|burst| ("burst", burst.to_string())).collect()
            }),
            matters: Options::has_bursts,
            ..KEY
        },
    ],
};

fn has_clients(options: &Options) -> bool {
    options.server != Server::Standalone
}
