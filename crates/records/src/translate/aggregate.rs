//! Aggregated calls: a tree of call paths for each thread, with `execdetails=false`.

use super::Translator;
use super::call_tree::CallTree;
use jtrail_model::{ThreadId, Timestamp};

impl Translator {
    /// Writes a thread's tree from the top. Calls that are still open are counted up to `time`.
    pub(super) fn write_tree(&mut self, thread: ThreadId, mut tree: CallTree, time: Timestamp) {
        self.folded_calls += tree.folded();
        for number in tree.methods() {
            self.method(number, time);
        }
        let (ids, encoder, out) = (&self.ids_of_methods, &mut self.encoder, &mut self.out);
        tree.emit(
            thread,
            time,
            |number| ids.get(number).0,
            |event| encoder.event(&event, out),
        );
    }
}
