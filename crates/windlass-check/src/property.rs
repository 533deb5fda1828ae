//! Properties: what must hold, and a memory of where it was found to.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::view::View;

/// A predicate on the abstract state.
pub(crate) type Predicate = Rc<dyn Fn(&View<'_>) -> bool>;

/// A named predicate. States that look the same to it are judged once.
pub(crate) struct Property {
    pub(crate) name: String,
    predicate: Predicate,
    judged: FxHashMap<[u32; 3], bool>,
}

impl Property {
    pub(crate) fn new(name: &str, predicate: impl Fn(&View<'_>) -> bool + 'static) -> Self {
        Property { name: name.to_owned(), predicate: Rc::new(predicate), judged: FxHashMap::default() }
    }

    /// The same property, with nothing judged yet.
    pub(crate) fn afresh(&self) -> Self {
        Property { name: self.name.clone(), predicate: self.predicate.clone(), judged: FxHashMap::default() }
    }

    /// Whether it holds in a state; `visible` are the numbers of all that a view shows.
    pub(crate) fn holds<'a>(&mut self, visible: [u32; 3], view: impl FnOnce() -> View<'a>) -> bool {
        if let Some(known) = self.judged.get(&visible) {
            return *known;
        }
        let holds = (self.predicate)(&view());
        self.judged.insert(visible, holds);
        holds
    }
}
