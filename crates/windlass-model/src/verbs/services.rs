//! Gives Services their cluster addresses and node ports.

use serde_json::Value;

use crate::kinds::service_pool::{Pool, Refusal, Taken};
use crate::object;
use crate::status::Status;
use crate::store::{Store, draw};

use super::call::Call;
use super::write::Part;

/// Assigns what a Service needs; other objects are left alone. What is in use is read from the Services that there are,
/// so nothing has to be released.
pub(super) fn assign<S: Store + ?Sized>(
    call: &Call<'_, S>,
    new: &mut Value,
    live: Option<&Value>,
    part: Part,
) -> Result<(), Status> {
    if !call.is("", "services") || part != Part::Object {
        return Ok(());
    }
    let name = object::name(new).to_owned();
    let taken = || {
        let mut taken = Taken::by([]);
        call.store.scan("", "services", None, None).for_each(|(_, service)| taken.add(&service));
        taken
    };
    let mut pool = Pool::new(taken, draw(&call.key(&name)), call.request.options.dry_run);
    pool.assign(new, live).map_err(|refusal| match refusal {
        Refusal::Invalid(errors) => call.invalid(&name, &errors),
        Refusal::Internal(why) => Status::internal(why),
    })
}
