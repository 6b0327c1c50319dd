//! Linear ids: 1, 2, 3 … in the order in which things were announced; 0 means none.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub u64);

        impl $name {
            /// No such thing, or not known.
            pub const NONE: Self = Self(0);

            /// Whether this is [`Self::NONE`].
            pub const fn is_none(self) -> bool {
                self.0 == 0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

ids! {
    /// A thread: platform, virtual, or one that native code attached.
    ThreadId;
    /// A class. Classes of one name from different loaders have different ids.
    ClassId;
    /// A method of one class.
    MethodId;
    /// An object.
    ObjectId;
    /// A heap dump.
    HeapDumpId;
}
