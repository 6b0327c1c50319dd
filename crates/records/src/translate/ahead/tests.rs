//! Tests for which pieces are found, joined and taken.

use super::super::Settings;
use super::super::runs::{MAX_STEPS, PIECE_STEPS};
use super::super::{Timeline, Translator};
use super::*;
use crate::definition::{ClassInfo, MethodInfo};
use crate::read::Sink;
use crate::record::{self, Code};
use jtrail_classfile::SuperMarks;

const THREAD: u32 = 1;

/// Returns a translator with the methods 1 to 5. The trace defines the methods 1 to 4. Method 4
/// makes marks, and a call of method 1 is open.
fn translator() -> Translator {
    let timeline = Timeline::new(0, 0, (1, 1));
    let mut translator = Translator::new(Translator::silent(), timeline, Settings::default());
    translator.add_class(ClassInfo::default());
    let method = |number| MethodInfo {
        number,
        marks: match number {
            4 => SuperMarks::After,
            _ => SuperMarks::None,
        },
        ..MethodInfo::default()
    };
    translator.add_methods(0, (1..=5).map(method).collect());
    for method in 1..=4 {
        translator.enter(THREAD, 1, method);
    }
    for method in [4, 3, 2] {
        translator.leave(THREAD, 1, method);
    }
    translator
}

fn enter(time: u64, method: u32) -> u64 {
    record::word(time, record::enter(method))
}

fn leave(time: u64, method: u32) -> u64 {
    record::word(time, record::leave(method))
}

/// Returns the number of words that a run takes from the position `first`. Without a piece, the run
/// sees only its first word.
fn taken(
    translator: &mut Translator,
    words: &[u64],
    first: usize,
    followed: &mut Followed,
    limit: u64,
) -> usize {
    let run = Run::new(&words[first..], 0, limit).expect("in time");
    let (piece, _) = followed.at(first);
    let words = &run.words[..1];
    translator
        .run(
            THREAD,
            Run {
                words,
                piece,
                ..run
            },
        )
        .words
}

fn followed(translator: &Translator, words: &[u64], from: usize) -> Followed {
    let mut followed = Followed::default();
    let follower = translator.follower().expect("it is of use");
    follower.follow(words, from..words.len(), 0, &mut followed);
    followed
}

#[test]
fn a_piece_is_taken_as_a_whole() {
    let mut translator = translator();
    let mark = record::word(11, record::coded(Code::SuperReturned));
    // Two calls, one of them with a mark, and the end of the open call.
    let words = [
        enter(10, 2),
        enter(10, 4),
        mark,
        4,
        leave(12, 4),
        leave(13, 2),
        leave(14, 1),
    ];
    let mut found = followed(&translator, &words, 0);
    assert_eq!(taken(&mut translator, &words, 0, &mut found, 14), 7);
    let totals = translator.totals_so_far();
    assert_eq!((totals.enters, totals.leaves, totals.repaired), (6, 6, 0));
}

/// Without the piece, the run takes its single word.
#[test]
fn a_piece_that_does_not_fit_is_left() {
    let words = [enter(10, 2), leave(10, 2), leave(12, 1)];
    // Some of the piece's words are later than the limit.
    let mut late = translator();
    let mut found = followed(&late, &words, 0);
    assert_eq!(taken(&mut late, &words, 0, &mut found, 11), 1);
    // The mark is later than the limit.
    let mark = record::word(12, record::coded(Code::SuperReturned));
    let marked = [enter(10, 2), enter(10, 4), mark, 4];
    let mut late = translator();
    let mut found = followed(&late, &marked, 0);
    assert_eq!(taken(&mut late, &marked, 0, &mut found, 11), 1);
    let mut in_time = translator();
    let mut found = followed(&in_time, &marked, 0);
    assert_eq!(taken(&mut in_time, &marked, 0, &mut found, 12), 4);
    // Another call is open.
    let mut other = translator();
    let mut found = followed(&other, &words, 0);
    other.enter(THREAD, 9, 3);
    assert_eq!(taken(&mut other, &words, 0, &mut found, 12), 1);
    // The thread's last event is later than the piece's start.
    let mut merged = translator();
    let mut found = followed(&merged, &words, 0);
    merged.enter(THREAD, 11, 3);
    merged.leave(THREAD, 11, 3);
    assert_eq!(taken(&mut merged, &words, 0, &mut found, 12), 1);
    // The state of a method has changed.
    let mut changed = translator();
    let mut found = followed(&changed, &words, 0);
    let info = MethodInfo {
        number: 2,
        marks: SuperMarks::Around,
        ..MethodInfo::default()
    };
    changed.add_methods(0, vec![info]);
    assert_eq!(taken(&mut changed, &words, 0, &mut found, 12), 1);
    // The piece is of another epoch than the run, but begins at the time of the thread's last
    // event.
    let mut earlier = translator();
    let mut found = Followed::default();
    let follower = earlier.follower().expect("it is of use");
    follower.follow(&words, 0..3, 1, &mut found);
    earlier.enter(THREAD, 1 << record::TIME_BITS | 10, 3);
    earlier.leave(THREAD, 1 << record::TIME_BITS | 10, 3);
    assert_eq!(taken(&mut earlier, &words, 0, &mut found, 12), 1);
    // The piece fits.
    let mut same = translator();
    let mut found = followed(&same, &words, 0);
    same.enter(THREAD, 9, 5); // defines a method in the trace
    same.leave(THREAD, 9, 5);
    assert_eq!(taken(&mut same, &words, 0, &mut found, 12), 3);
}

/// Adjacent pieces are joined. Each can still be taken alone if not all words may be read.
#[test]
fn pieces_in_a_row_are_joined() {
    const DEEP: u32 = 1500;
    for moves in [0, 1] {
        // Nested calls of method 2 and their leaves, three times. The last ten leaves are missing.
        let mut words = Vec::new();
        let mut now = 10;
        for _ in 0..3 {
            for at in 0..2 * DEEP {
                words.push(match at < DEEP {
                    true => enter(now, 2),
                    false => leave(now, 2),
                });
                now += moves;
            }
        }
        words.truncate(words.len() - 10);
        let count = words.len();
        let mut translator = translator();
        let mut found = followed(&translator, &words, 0);
        assert_eq!(found.pieces.len(), count.div_ceil(PIECE_STEPS));
        let joined: Vec<u32> = found.joined.iter().map(|parts| parts.words).collect();
        assert_eq!(joined, [MAX_STEPS as u32; 2]); // and one piece that is not joined
        let mut position = 0;
        if moves > 0 {
            // The limit is in the middle of the second piece.
            let limit = record::tick(words[PIECE_STEPS + 500]);
            let words_taken = taken(&mut translator, &words, 0, &mut found, limit);
            assert_eq!(words_taken, PIECE_STEPS);
            position = PIECE_STEPS;
        }
        for _ in 0..9 {
            if position < count {
                position += taken(&mut translator, &words, position, &mut found, now);
            }
        }
        assert_eq!(position, count);
        let totals = translator.totals_so_far();
        let all = u64::from(3 * DEEP);
        assert_eq!((totals.enters, totals.leaves), (4 + all, 3 + all - 10));
        let open = translator.threads[&THREAD].calls.iter();
        let open: Vec<(u32, u32)> = open.map(|call| (call.method(), call.ticket())).collect();
        let mut expected = vec![(1, 1)];
        expected.extend((0..10).map(|at| (2, 5 + 2 * DEEP + at)));
        assert_eq!(open, expected);
    }
}

/// Pieces are also separate if a ticking clock moved between them.
#[test]
fn pieces_of_other_times_are_not_joined() {
    let mut translator = translator();
    let mut words = vec![enter(50, 2); PIECE_STEPS];
    words.extend_from_slice(&[enter(90, 2); 10]);
    let mut found = followed(&translator, &words, 0);
    assert_eq!((found.pieces.len(), found.joined.len()), (2, 0));
    let all = taken(&mut translator, &words, 0, &mut found, 90);
    assert_eq!(all, PIECE_STEPS);
    assert_eq!(taken(&mut translator, &words, all, &mut found, 90), 10);
    assert_eq!(translator.threads[&THREAD].last, Timestamp(90));
}

/// A new piece begins after a word that no run takes, and after a start in the middle of a record.
#[test]
fn pieces_begin_where_runs_do() {
    let translator = translator();
    let coded = |code| record::word(11, record::coded(code));
    let words = [
        enter(10, 2),
        coded(Code::Caught),
        1 << 1,
        leave(12, 2),
        enter(13, 5), // not defined in the trace
        enter(13, 2),
        coded(Code::Time),
        1 << record::TIME_BITS,
        enter(14, 3),
    ];
    let firsts = |from| {
        let found = followed(&translator, &words, from);
        let firsts = found.pieces.iter().map(|parts| parts.first);
        (firsts.collect::<Vec<_>>(), found.epoch)
    };
    // Pieces before the record of a time are dropped.
    assert_eq!(firsts(0), (vec![8], 1));
    let mut found = Followed::default();
    let follower = translator.follower().expect("it is of use");
    for (from, expected) in [(0, vec![0, 3, 5]), (2, vec![2, 3, 5]), (3, vec![3, 5])] {
        follower.follow(&words, from..6, 0, &mut found);
        let firsts: Vec<_> = found.pieces.iter().map(|parts| parts.first).collect();
        assert_eq!(firsts, expected, "{from}");
    }
    // Returns what `at` returns for successive positions.
    follower.follow(&words, 0..6, 0, &mut found);
    let mut at = |position| {
        let (piece, more) = found.at(position);
        (piece.map(|piece| piece.parts.first), more)
    };
    assert_eq!(at(0), (Some(0), Some(3)));
    assert_eq!(at(1), (None, Some(3)));
    assert_eq!(at(3), (Some(3), Some(5)));
    assert_eq!(at(4), (None, Some(5)));
    assert_eq!(at(5), (Some(5), None));
    assert_eq!(at(6), (None, None));
}
