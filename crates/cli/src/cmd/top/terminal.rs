//! Terminal: reads keys, draws the screen, and restores the terminal on every exit.

use super::round::Sort;
use super::screen::{Screen, Wish};
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
                Event::Key(key) if key.kind != KeyEventKind::Release => match wish(key) {
                    Some(Wish::Quit) => return Ok(()),
                    Some(wish) => {
                        screen.act(wish);
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

fn wish(key: KeyEvent) -> Option<Wish> {
    const PAGE: isize = 10;
    Some(match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Wish::Quit,
        _ if key.modifiers.contains(KeyModifiers::CONTROL) => return None,
        KeyCode::Char('q') | KeyCode::Esc => Wish::Quit,
        KeyCode::Char('s') => Wish::Sort(Sort::Own),
        KeyCode::Char('t') => Wish::Sort(Sort::Total),
        KeyCode::Char('c') => Wish::Sort(Sort::Calls),
        KeyCode::Char('n') => Wish::Sort(Sort::Name),
        KeyCode::Tab => Wish::Threads,
        KeyCode::Char(' ') => Wish::Hold,
        KeyCode::Char('?' | 'h') => Wish::Help,
        KeyCode::Char('+') => Wish::Slower,
        KeyCode::Char('-') => Wish::Faster,
        KeyCode::Up | KeyCode::Char('k') => Wish::Scroll(-1),
        KeyCode::Down | KeyCode::Char('j') => Wish::Scroll(1),
        KeyCode::PageUp => Wish::Scroll(-PAGE),
        KeyCode::PageDown => Wish::Scroll(PAGE),
        KeyCode::Home => Wish::Top,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let of = |code, modifiers| wish(KeyEvent::new(code, modifiers));
        let plain = |c| of(KeyCode::Char(c), KeyModifiers::NONE);
        assert_eq!(plain('q'), Some(Wish::Quit));
        assert_eq!(plain('c'), Some(Wish::Sort(Sort::Calls)));
        assert_eq!(
            of(KeyCode::Char('c'), KeyModifiers::CONTROL),
            Some(Wish::Quit)
        );
        assert_eq!(of(KeyCode::Char('s'), KeyModifiers::CONTROL), None);
        assert_eq!(plain('x'), None);
        assert_eq!(of(KeyCode::Tab, KeyModifiers::NONE), Some(Wish::Threads));
    }
}
