//! Terminal: reads keys, draws the screen, and restores the terminal on every exit.

use super::round::Sort;
use super::screen::{KeyAction, Screen};
use super::source::Source;
use anyhow::Context;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interval between checks of signals.
const TICK: Duration = Duration::from_millis(200);

/// Terminal that is restored on drop, even in a panic.
struct Restored(DefaultTerminal);

impl Restored {
    fn new() -> anyhow::Result<Self> {
        // The panic hook of ratatui restores the terminal before the panic's message is written.
        let terminal = ratatui::try_init().inspect_err(|_| ratatui::restore());
        Ok(Self(terminal.context("the terminal")?))
    }
}

impl Drop for Restored {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Shows the agent's figures until the user quits or a signal arrives.
pub(super) fn run(
    source: &mut Source,
    mut screen: Screen,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let mut terminal = Restored::new()?;
    let mut last = Instant::now();
    let mut changed = true;
    while !stop.load(Ordering::Relaxed) {
        if std::mem::take(&mut changed) {
            screen.remark = source.why_not.unwrap_or_default().to_owned();
            terminal.0.draw(|frame| screen.draw(frame))?;
        }
        let left = screen.interval.saturating_sub(last.elapsed());
        if left.is_zero() {
            last = Instant::now();
            screen.show(source.look()?);
            changed = true;
        } else if event::poll(left.min(TICK))? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => match key_action(key) {
                    Some(KeyAction::Quit) => return Ok(()),
                    Some(key_action) => {
                        screen.act(key_action);
                        changed = true;
                    }
                    None => {}
                },
                Event::Resize(..) => changed = true,
                _ => {}
            }
        }
    }
    Ok(())
}

fn key_action(key: KeyEvent) -> Option<KeyAction> {
    const PAGE: isize = 10;
    Some(match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => KeyAction::Quit,
        _ if key.modifiers.contains(KeyModifiers::CONTROL) => return None,
        KeyCode::Char('q') | KeyCode::Esc => KeyAction::Quit,
        KeyCode::Char('s') => KeyAction::Sort(Sort::Own),
        KeyCode::Char('t') => KeyAction::Sort(Sort::Total),
        KeyCode::Char('c') => KeyAction::Sort(Sort::Calls),
        KeyCode::Char('n') => KeyAction::Sort(Sort::Name),
        KeyCode::Tab => KeyAction::Threads,
        KeyCode::Char(' ') => KeyAction::Hold,
        KeyCode::Char('?' | 'h') => KeyAction::Help,
        KeyCode::Char('+') => KeyAction::Slower,
        KeyCode::Char('-') => KeyAction::Faster,
        KeyCode::Up | KeyCode::Char('k') => KeyAction::Scroll(-1),
        KeyCode::Down | KeyCode::Char('j') => KeyAction::Scroll(1),
        KeyCode::PageUp => KeyAction::Scroll(-PAGE),
        KeyCode::PageDown => KeyAction::Scroll(PAGE),
        KeyCode::Home => KeyAction::Top,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let of = |code, modifiers| key_action(KeyEvent::new(code, modifiers));
        let plain = |c| of(KeyCode::Char(c), KeyModifiers::NONE);
        assert_eq!(plain('q'), Some(KeyAction::Quit));
        assert_eq!(plain('c'), Some(KeyAction::Sort(Sort::Calls)));
        assert_eq!(
            of(KeyCode::Char('c'), KeyModifiers::CONTROL),
            Some(KeyAction::Quit)
        );
        assert_eq!(of(KeyCode::Char('s'), KeyModifiers::CONTROL), None);
        assert_eq!(plain('x'), None);
        assert_eq!(
            of(KeyCode::Tab, KeyModifiers::NONE),
            Some(KeyAction::Threads)
        );
    }
}
