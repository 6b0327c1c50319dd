//! The notices that clients get about a trace. They arrive before the answer to the command that
//! caused them, and in the same order for all clients.

use crate::support::at_once;
use crate::support::control::ControlledRun;
use jtrail_control::{Client, Command, Incoming, Notice, Start, State};
use jtrail_options::BurstLimit;
use std::time::Duration;

/// Maximum time for a notice to arrive.
const PATIENCE: Duration = Duration::from_secs(60);

fn word(incoming: &Incoming) -> String {
    match incoming {
        Incoming::Notice(Notice::TraceStarted(_)) => "started".to_owned(),
        Incoming::Notice(Notice::TraceEnded { reason, .. }) => format!("ended {reason:?}"),
        Incoming::Notice(Notice::State(state)) => format!("{state:?}"),
        other => panic!("{other:?}"),
    }
}

/// Carries out a command. Returns the notices that arrive before the answer.
fn reported(client: &mut Client, command: Command) -> Vec<String> {
    let mut seen = Vec::new();
    let answer = client.call(command, |incoming| {
        seen.push(word(&incoming));
        Ok(())
    });
    answer.expect("it is done");
    seen
}

#[test]
fn notices_come_before_the_answer() {
    at_once(|jdk| {
        let app = ControlledRun::new(jdk, "format=binary,events=methods,server=enabled");
        let (mut client, mut other) = (app.client(), app.client());
        assert!(
            reported(&mut other, Command::Status).is_empty(),
            "it is there"
        );
        let start = Start {
            file: Some(app.text("second")),
            ..Start::default()
        };
        let steps = [
            (Command::Pause, vec!["Paused"], State::Paused),
            (Command::Resume, vec!["Recording"], State::Recording),
            (
                Command::Rotate { file: None },
                vec!["ended Rotate", "started"],
                State::Recording,
            ),
            (Command::Stop, vec!["ended Stop"], State::Idle),
            (Command::Start(start), vec!["started"], State::Recording),
            (Command::Pause, vec!["Paused"], State::Paused),
        ];
        let mut all = Vec::new();
        for (command, expected, state) in steps {
            let name = command.name();
            let seen = reported(&mut client, command);
            assert_eq!(seen, expected, "{name}, {jdk}");
            all.extend(seen);
            // The notice is true, and nothing comes after the answer.
            assert_eq!(app.status().state, state, "{name}, {jdk}");
            assert!(reported(&mut client, Command::Status).is_empty(), "{name}");
        }
        // The notice of a burst's end may come before or after the answer, but comes after the
        // notice of the burst's begin.
        let burst = Command::Burst(BurstLimit::Time(Duration::from_millis(1)));
        let mut seen = reported(&mut client, burst);
        while seen.len() < 2 {
            let incoming = client.receive(PATIENCE).expect("connected");
            seen.push(word(&incoming.expect("it is told")));
        }
        assert_eq!(seen, ["Recording", "Paused"], "{jdk}");
        all.extend(seen);
        // The other clients get the same notices.
        for expected in all {
            let incoming = other.receive(PATIENCE).expect("connected");
            assert_eq!(word(&incoming.expect("it is told")), expected, "{jdk}");
        }
        app.end();
    });
}
