//! Indexes into the lists that a check is set up with: processes, peers, scripts, watched kinds. The compiler keeps them
//! apart, since two of them often stand side by side.

/// Defines indexes into one list, of at most 256.
macro_rules! index {
    ($(#[doc = $doc:literal])* $name:ident) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(u8);

        impl $name {
            /// That of an index.
            #[inline]
            pub(crate) const fn new(index: usize) -> Self {
                assert!(index <= u8::MAX as usize, "the list has at most 256 entries");
                $name(index as u8)
            }

            /// All of a list of this length.
            #[inline]
            pub(crate) fn all(length: usize) -> impl Iterator<Item = Self> {
                (0..length).map($name::new)
            }

            /// The index as a number.
            #[inline]
            pub(crate) const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index! {
    /// A controller process: a controller with several replicas has several.
    ProcessIndex
}
index! {
    /// What a controller sends requests to: the API server, or a service.
    PeerIndex
}
/// The peer that is not a service.
pub(crate) const API_SERVER: PeerIndex = PeerIndex::new(0);

index! {
    /// A client's script.
    ScriptIndex
}
index! {
    /// A kind that any process watches.
    KindIndex
}
index! {
    /// A permutation of names and processes, among those that leave the first state as it is.
    PermutationIndex
}
