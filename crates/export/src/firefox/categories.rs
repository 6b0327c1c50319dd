//! Categories of frames and markers, which the viewer shows as colours.

use serde_json::{Value, json};

/// What a thread does in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Category {
    /// The viewer's category of a call that has frames of several categories.
    Other,
    /// No call is open. The viewer knows this category by its name.
    Idle,
    Application,
    Jdk,
    Blocked,
    Waiting,
    Collection,
}

/// A category and its subcategory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Kind {
    pub(super) category: Category,
    pub(super) subcategory: u32,
}

/// A thread waits in `Object.wait`.
pub(super) const OBJECT_WAIT: Kind = Kind {
    category: Category::Waiting,
    subcategory: 1,
};

/// A thread is parked.
pub(super) const PARKED: Kind = Kind {
    category: Category::Waiting,
    subcategory: 2,
};

/// Beginnings of the names of the JDK's classes.
const JDK: [&str; 5] = ["java.", "javax.", "jdk.", "sun.", "com.sun."];

impl Category {
    /// Returns the category of a class's methods.
    pub(super) fn of_class(class: &str) -> Self {
        match JDK.iter().any(|prefix| class.starts_with(prefix)) {
            true => Self::Jdk,
            false => Self::Application,
        }
    }
}

impl Kind {
    /// Returns a category without subcategory.
    pub(super) fn of(category: Category) -> Self {
        Self {
            category,
            subcategory: 0,
        }
    }
}

/// Returns the list of categories for `meta`, in the order of [`Category`]. The first subcategory
/// of each must be "Other".
pub(super) fn list() -> Value {
    json!([
        {"name": "Other", "color": "grey", "subcategories": ["Other"]},
        {"name": "Idle", "color": "transparent", "subcategories": ["Other"]},
        {"name": "Application", "color": "blue", "subcategories": ["Other"]},
        {"name": "JDK", "color": "lightblue", "subcategories": ["Other"]},
        {"name": "Blocked on a monitor", "color": "red", "subcategories": ["Other"]},
        {
            "name": "Waiting",
            "color": "darkgrey",
            "subcategories": ["Other", "Object.wait", "Parked"],
        },
        {"name": "Garbage collection", "color": "purple", "subcategories": ["Other"]},
    ])
}
