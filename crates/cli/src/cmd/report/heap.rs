//! Tables of heap dumps.

use super::tables::Table;
use super::{Content, Report, column, object_id, optional, share, some, some_text};
use crate::output::{Cell, Column};

const DUMPS: &[Column] = &[
    column("dump", "id"),
    column("time_ns", "time"),
    optional("name", "name"),
    column("objects", "objects"),
    column("bytes", "bytes"),
    column("references", "references"),
    column("roots", "roots"),
    optional("unreachable_objects", "unreachable"),
    optional("unreachable_bytes", "unreachable bytes"),
    column("complete", "complete"),
];

const CLASSES: &[Column] = &[
    column("dump", "dump"),
    column("objects", "objects"),
    column("bytes", "bytes"),
    column("bytes_share", "bytes %"),
    column("retained_bytes", "retained"),
    column("retained_share", "retained %"),
    optional("roots", "roots"),
    column("class", "class"),
];

const REFERENCES: &[Column] = &[
    column("dump", "dump"),
    column("references", "references"),
    column("class", "to"),
    column("from", "from"),
];

const OBJECTS: &[Column] = &[
    column("dump", "dump"),
    column("bytes", "bytes"),
    column("retained_bytes", "retained"),
    column("retained_share", "retained %"),
    column("object", "object"),
    column("class", "class"),
];

impl Report<'_> {
    pub(super) fn dumps(&self) -> Content {
        let dumps = &self.analysis.heap.dumps;
        self.table(Table::Heap, DUMPS, dumps, |d| {
            let unreachable = d.unreachable.filter(|u| u.objects > 0);
            vec![
                Cell::Count(d.dump.0),
                self.since_start(d.time),
                some_text(&d.name),
                Cell::Count(d.all.objects),
                Cell::Bytes(d.all.bytes),
                Cell::Count(d.references),
                Cell::Count(d.roots),
                unreachable.map_or(Cell::None, |u| Cell::Count(u.objects)),
                unreachable.map_or(Cell::None, |u| Cell::Bytes(u.bytes)),
                Cell::Text(if d.complete { "yes" } else { "no" }.to_owned()),
            ]
        })
    }

    /// Returns the biggest classes of each dump.
    pub(super) fn dump_classes(&self) -> Content {
        let each = self.analysis.heap.dumps.iter().map(|dump| {
            let all = dump.all.bytes;
            self.table(Table::HeapClasses, CLASSES, &dump.classes, |c| {
                vec![
                    Cell::Count(dump.dump.0),
                    Cell::Count(c.shallow.objects),
                    Cell::Bytes(c.shallow.bytes),
                    share(c.shallow.bytes, all),
                    Cell::Bytes(c.retained),
                    share(c.retained, all),
                    some(c.roots),
                    self.class(c.class),
                ]
            })
        });
        joined(CLASSES, each)
    }

    /// Returns the references of each dump by class.
    pub(super) fn dump_references(&self) -> Content {
        let each = self.analysis.heap.dumps.iter().map(|dump| {
            self.table(
                Table::HeapReferences,
                REFERENCES,
                &dump.referrers,
                |(to, from, count)| {
                    vec![
                        Cell::Count(dump.dump.0),
                        Cell::Count(*count),
                        self.class(*to),
                        self.class(*from),
                    ]
                },
            )
        });
        joined(REFERENCES, each)
    }

    /// Returns the objects of each dump that retain the most memory.
    pub(super) fn dump_objects(&self) -> Content {
        let each = self.analysis.heap.dumps.iter().map(|dump| {
            let all = dump.all.bytes;
            self.table(Table::HeapObjects, OBJECTS, &dump.objects, |o| {
                vec![
                    Cell::Count(dump.dump.0),
                    Cell::Bytes(o.shallow),
                    Cell::Bytes(o.retained),
                    share(o.retained, all),
                    object_id(o.object),
                    self.class(o.class),
                ]
            })
        });
        joined(OBJECTS, each)
    }
}

fn joined(columns: &'static [Column], each: impl Iterator<Item = Content>) -> Content {
    let none = Content {
        columns,
        rows: Vec::new(),
        more: 0,
    };
    each.fold(none, |mut all, dump| {
        all.rows.extend(dump.rows);
        all.more += dump.more;
        all
    })
}
