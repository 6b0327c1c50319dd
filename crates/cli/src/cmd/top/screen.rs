//! The contents of the screen, without a terminal: draws the state into a frame of cells.

use super::round::{Method, Round, Sort, Thread};
use crate::output::{bytes, count, one_line, time};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Row, Table};
use std::time::Duration;

/// What the screen shows, and how.
#[derive(Default)]
pub(super) struct Screen {
    /// Figures of the last interval, or `None` during the first one.
    pub(super) round: Option<Round>,
    /// Remark in the bottom line.
    pub(super) remark: String,
    pub(super) interval: Duration,
    pub(super) sort: Sort,
    pub(super) threads: bool,
    pub(super) help: bool,
    /// True if the figures are frozen.
    pub(super) held: bool,
    /// Number of rows that are scrolled out at the top.
    pub(super) first: usize,
}

/// Action of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KeyAction {
    Quit,
    Sort(Sort),
    Threads,
    Help,
    Hold,
    /// Number of rows to scroll down, or up if negative.
    Scroll(isize),
    Top,
    Faster,
    Slower,
}

const MIN_INTERVAL: Duration = Duration::from_millis(250);
const MAX_INTERVAL: Duration = Duration::from_secs(60);

const HELP: &[(&str, &str)] = &[
    ("s", "by self time: in the method, without what it calls"),
    ("t", "by total time: with what it calls"),
    ("c", "by calls"),
    ("n", "by name"),
    ("Tab", "methods, or threads"),
    ("space", "hold the figures, or go on"),
    ("+ -", "a longer or shorter interval"),
    ("up down PgUp PgDn Home", "scroll"),
    ("? h", "this help"),
    ("q Esc Ctrl-C", "quit"),
];

impl Screen {
    /// Carries out a key's action.
    pub(super) fn act(&mut self, key_action: KeyAction) {
        match key_action {
            KeyAction::Quit => {}
            KeyAction::Sort(sort) => {
                (self.sort, self.first) = (sort, 0);
                self.order();
            }
            KeyAction::Threads => {
                (self.threads, self.first) = (!self.threads, 0);
            }
            KeyAction::Help => self.help = !self.help,
            KeyAction::Hold => self.held = !self.held,
            KeyAction::Scroll(rows) => {
                let last = self.rows().saturating_sub(1);
                self.first = self.first.saturating_add_signed(rows).min(last);
            }
            KeyAction::Top => self.first = 0,
            KeyAction::Slower => self.interval = (self.interval * 2).min(MAX_INTERVAL),
            KeyAction::Faster => self.interval = (self.interval / 2).max(MIN_INTERVAL),
        }
    }

    /// Shows the figures of a new interval.
    pub(super) fn show(&mut self, round: Round) {
        if !self.held {
            self.round = Some(round);
            self.order();
            self.first = self.first.min(self.rows().saturating_sub(1));
        }
    }

    fn order(&mut self) {
        let calls = self.round.as_mut().and_then(|round| round.calls.as_mut());
        if let Some(calls) = calls {
            calls.sort(self.sort);
        }
    }

    fn rows(&self) -> usize {
        let calls = self.round.as_ref().and_then(|round| round.calls.as_ref());
        calls.map_or(0, |calls| match self.threads {
            true => calls.threads.len(),
            false => calls.methods.len(),
        })
    }

    /// Draws the whole screen.
    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let [head, rates, table, foot] = Layout::vertical([
            Constraint::Length(2),
            Constraint::Length(2),
            Constraint::Min(0),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        match &self.round {
            Some(round) => {
                frame.render_widget(self.head(round), head);
                frame.render_widget(rates_of(round), rates);
                self.draw_table(round, frame, table);
            }
            None => frame.render_widget("jtrail top: waiting for the first interval …", head),
        }
        let foot_text = match self.remark.is_empty() {
            true => "q quit  s self  t total  c calls  n name  Tab threads  space hold  ? help",
            false => &self.remark,
        };
        let style = Style::new().add_modifier(Modifier::REVERSED);
        frame.render_widget(Paragraph::new(one_line(foot_text)).style(style), foot);
        if self.help {
            draw_help(frame);
        }
    }

    fn head(&self, round: &Round) -> Paragraph<'static> {
        let status = &round.status;
        let overhead = match status.overhead {
            Some(millionths) => format!("{:.2} %", f64::from(millionths) / 10_000.0),
            None => "-".to_owned(),
        };
        let held = if self.held { "  HELD" } else { "" };
        let length = round.length.as_nanos() as i64;
        Paragraph::new(vec![
            Line::from(format!(
                "jtrail top {}  {}  up {}  in the last {}{held}",
                status.pid,
                status.state,
                time(status.uptime.as_nanos() as i64),
                time(length),
            )),
            Line::from(format!(
                "lost {}  buffers {} of {}  overhead {overhead}  clients {}",
                count(round.lost),
                bytes(status.buffered),
                bytes(status.buffer),
                status.clients,
            )),
        ])
    }

    fn draw_table(&self, round: &Round, frame: &mut Frame<'_>, area: Rect) {
        let Some(calls) = &round.calls else { return };
        let shown = usize::from(area.height.saturating_sub(1));
        let style = Style::new().add_modifier(Modifier::BOLD);
        let (rows, head): (Vec<Row<'_>>, _) = match self.threads {
            true => {
                let threads = calls.threads.iter().skip(self.first).take(shown);
                let rows = threads.map(|thread| thread_row(round, thread));
                (rows.collect(), ["calls/s", "", "in calls", "", "thread"])
            }
            false => {
                let methods = calls.methods.iter().skip(self.first).take(shown);
                let rows = methods.map(|method| method_row(round, method));
                let head = ["calls/s", "self", "%", "total %", "method"];
                (rows.collect(), head)
            }
        };
        let widths = [
            Constraint::Length(12),
            Constraint::Length(9),
            Constraint::Length(8),
            Constraint::Length(8),
            Constraint::Min(10),
        ];
        let head = head.into_iter().enumerate().map(|(at, name)| match at {
            4 => Line::from(name),
            _ => Line::from(name).right_aligned(),
        });
        let table = Table::new(rows, widths).header(Row::new(head).style(style));
        frame.render_widget(table, area);
    }
}

fn rate(round: &Round, n: u64) -> String {
    let rate = round.per_second(n);
    match rate {
        0.0..10.0 if rate.fract() != 0.0 => format!("{rate:.1}"),
        _ => count(rate.round() as u64),
    }
}

fn percent(round: &Round, ns: i64) -> String {
    format!("{:.1}%", round.part(ns) * 100.0)
}

fn row(numbers: [String; 4], name: String) -> Row<'static> {
    let numbers = numbers.map(|text| Line::from(text).right_aligned());
    Row::new(numbers.into_iter().chain([Line::from(name)]))
}

fn method_row(round: &Round, method: &Method) -> Row<'static> {
    let numbers = [
        rate(round, method.calls),
        time(method.own),
        percent(round, method.own),
        percent(round, method.total),
    ];
    row(numbers, one_line(&method.name))
}

fn thread_row(round: &Round, thread: &Thread) -> Row<'static> {
    let numbers = [
        rate(round, thread.calls),
        String::new(),
        time(thread.busy),
        percent(round, thread.busy),
    ];
    row(numbers, one_line(&thread.name))
}

/// Returns the events per second, most frequent first, in at most two lines.
fn rates_of(round: &Round) -> Paragraph<'static> {
    let mut events: Vec<_> = round.events.iter().collect();
    events.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let rates = events
        .iter()
        .map(|(kind, n)| format!("{} {}/s", one_line(kind), rate(round, *n)));
    let text = match events.is_empty() {
        true => "no events".to_owned(),
        false => rates.collect::<Vec<_>>().join("  "),
    };
    Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: true })
}

fn draw_help(frame: &mut Frame<'_>) {
    let all = frame.area();
    let keys = HELP.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    let lines: Vec<Line<'_>> = HELP
        .iter()
        .map(|(key, what)| Line::from(format!(" {key:keys$}  {what}")))
        .collect();
    let widest = lines.iter().map(Line::width).max().unwrap_or(0) + 3;
    let width = u16::try_from(widest).unwrap_or(u16::MAX).min(all.width);
    let height = (HELP.len() as u16 + 2).min(all.height);
    let area = Rect {
        x: (all.width - width) / 2,
        y: (all.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, area);
    let block = Block::bordered().title("keys");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

#[cfg(test)]
mod tests {
    use super::super::round::tests::round;
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn screen() -> Screen {
        Screen {
            interval: Duration::from_secs(2),
            ..Screen::default()
        }
    }

    /// Returns the lines of a terminal with the given size.
    fn drawn(screen: &Screen, width: u16, height: u16) -> Vec<String> {
        let backend = TestBackend::new(width, height);
        let mut terminal = Terminal::new(backend).expect("memory");
        terminal.draw(|frame| screen.draw(frame)).expect("memory");
        let buffer = terminal.backend().buffer();
        buffer
            .content()
            .chunks(width.into())
            .map(|line| {
                let line: String = line.iter().map(|cell| cell.symbol()).collect();
                line.trim_end().to_owned()
            })
            .collect()
    }

    #[test]
    fn all_is_on_a_small_terminal() {
        let mut screen = screen();
        assert!(drawn(&screen, 80, 24)[0].contains("first interval"));
        screen.show(round());
        let lines = drawn(&screen, 80, 24);
        assert_eq!(
            lines[0],
            "jtrail top 4711  recording  up 95.00 s  in the last 2.000 s"
        );
        assert_eq!(
            lines[1],
            "lost 0  buffers 256.0 KiB of 64.0 MiB  overhead 1.25 %  clients 1"
        );
        assert_eq!(lines[2], "allocations 500/s  calls 70/s");
        assert_eq!(lines[4], "     calls/s      self        %  total % method");
        assert_eq!(
            lines[5],
            "          25  10.00 ms     0.5%     0.7% x.Y.a(int)"
        );
        assert!(lines[6].ends_with("x.Y.b(int)"));
        assert!(lines[23].starts_with("q quit"));
    }

    #[test]
    fn keys_change_what_is_shown() {
        let mut screen = screen();
        screen.show(round());
        let calls = screen.round.as_mut().and_then(|r| r.calls.as_mut());
        calls.expect("calls").methods[1].calls = 99;
        screen.act(KeyAction::Sort(Sort::Calls));
        assert!(drawn(&screen, 80, 24)[5].ends_with("x.Y.b(int)"));
        screen.act(KeyAction::Scroll(1));
        assert!(drawn(&screen, 80, 24)[5].ends_with("x.Y.a(int)"));
        screen.act(KeyAction::Scroll(100));
        assert!(drawn(&screen, 80, 24)[5].ends_with("x.Y.a(int)"));
        screen.act(KeyAction::Scroll(-100));
        screen.act(KeyAction::Threads);
        let lines = drawn(&screen, 80, 24);
        assert!(
            lines[4].ends_with("thread") && lines[5].ends_with("main"),
            "{lines:?}"
        );
        screen.act(KeyAction::Help);
        assert!(drawn(&screen, 80, 24).iter().any(|l| l.contains("Ctrl-C")));
        screen.act(KeyAction::Help);
        screen.act(KeyAction::Hold);
        let mut other = round();
        other.status.pid = 1;
        screen.show(other.clone());
        assert!(
            drawn(&screen, 80, 24)[0].contains("4711")
                && drawn(&screen, 80, 24)[0].contains("HELD")
        );
        screen.act(KeyAction::Hold);
        screen.show(other);
        assert!(drawn(&screen, 80, 24)[0].starts_with("jtrail top 1 "));
        for _ in 0..20 {
            screen.act(KeyAction::Faster);
        }
        assert_eq!(screen.interval, MIN_INTERVAL);
        for _ in 0..20 {
            screen.act(KeyAction::Slower);
        }
        assert_eq!(screen.interval, MAX_INTERVAL);
    }

    #[test]
    fn any_size_will_do() {
        let mut screen = screen();
        screen.show(round());
        screen.remark = "another client has the data stream".into();
        screen.help = true;
        for (width, height) in [(1, 1), (10, 3), (20, 5), (40, 10), (300, 100)] {
            drawn(&screen, width, height);
        }
    }

    #[test]
    fn names_do_not_drive_the_terminal() {
        let mut screen = screen();
        let mut round = round();
        let calls = round.calls.as_mut().expect("calls");
        calls.methods[0].name = "x.\u{1b}[2J\nY".into();
        screen.show(round);
        let text = drawn(&screen, 80, 24).join("\n");
        assert!(text.contains("x.\\u{1b}[2J\\nY"), "{text}");
    }
}
