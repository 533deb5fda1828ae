//! Whose an object is: what its owner references, its marks and the inventory say.

use serde_json::Value;
use windlass_model::object;

use crate::declaration::{CONTROLLER_LABEL, Declaration, OWNER_ANNOTATION, OWNER_LABEL, owner_label};
use crate::field_manager;
use crate::kind::ObjectRef;
use crate::reconcile::ReconcileState;
use crate::record::OutputRecord;

/// Whether a live object was made by this controller for this parent: its owner reference, its marks, or the
/// inventory say so.
pub(crate) fn is_ours(reconcile: &ReconcileState, record: &OutputRecord, live: &Value) -> bool {
    let known = reconcile.record.outputs.iter().find(|known| known.same_object(record));
    let recorded = known.is_some_and(|known| !known.uid.is_empty() && known.uid == object::uid(live));
    has_owner(live, &reconcile.parent) || recorded || is_marked(reconcile, live)
}

/// Whether this controller alone has written an object, with [`Cx::create`](crate::Cx::create) say, and no parent has
/// claimed it yet. The first one to ensure it gets it.
pub(crate) fn is_unclaimed(reconcile: &ReconcileState, live: &Value) -> bool {
    let claimed = !object::owner_references(live).is_empty()
        || object::label(live, OWNER_LABEL).is_some()
        || object::annotation(live, OWNER_ANNOTATION).is_some();
    !claimed && field_manager::is_only_writer(live, &reconcile.declaration.field_manager())
}

/// Whether labels or annotation name this controller and this parent, and the controller did write to it.
pub(crate) fn is_marked(reconcile: &ReconcileState, live: &Value) -> bool {
    let (declaration, target) = (&reconcile.declaration, reconcile.target());
    let labelled = object::label(live, CONTROLLER_LABEL) == Some(&declaration.name)
        && object::label(live, OWNER_LABEL) == Some(&owner_label(&target));
    (labelled || is_annotated(declaration, &target, live)) && reconcile.io.has_written(live)
}

/// Whether an output was made for this parent without an owner reference.
pub(crate) fn is_annotated(declaration: &Declaration, target: &ObjectRef, live: &Value) -> bool {
    object::annotation(live, OWNER_ANNOTATION) == Some(&declaration.owner_annotation(target))
}

/// Whether an owner reference ties an object to this parent.
pub(crate) fn has_owner(live: &Value, parent: &Value) -> bool {
    object::owner_references(live).iter().any(|owner| owner["uid"] == object::uid(parent))
}
