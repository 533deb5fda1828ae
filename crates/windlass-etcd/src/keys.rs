//! The keys in etcd, and what is read from them.

use windlass_shard::InstanceId;

use crate::error::EtcdError;

/// The names of keys under a prefix.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    prefix: String,
}

impl Keys {
    pub(crate) fn new(prefix: &str) -> Self {
        Keys { prefix: prefix.trim_end_matches('/').to_owned() }
    }

    /// The ring of a controller type.
    pub(crate) fn ring(&self, controller_type: &str) -> String {
        format!("{}{controller_type}", self.rings())
    }

    /// The epoch of the ring of a controller type.
    pub(crate) fn epoch(&self, controller_type: &str) -> String {
        format!("{}/epochs/{controller_type}", self.prefix)
    }

    /// What the keys of all rings begin with.
    pub(crate) fn rings(&self) -> String {
        format!("{}/rings/", self.prefix)
    }

    /// The lease of an instance: the register of the protocol.
    pub(crate) fn lease(&self, controller_type: &str, id: &InstanceId) -> String {
        format!("{}/leases/{controller_type}/{id}", self.prefix)
    }

    /// The slots that an instance serves.
    pub(crate) fn served(&self, controller_type: &str, id: &InstanceId) -> String {
        format!("{}{id}", self.all_served(controller_type))
    }

    /// What the keys of the slots that instances serve begin with.
    pub(crate) fn all_served(&self, controller_type: &str) -> String {
        format!("{}/served/{controller_type}/", self.prefix)
    }

    /// An instance in the list of those that are there.
    pub(crate) fn controller(&self, controller_type: &str, id: &InstanceId) -> String {
        format!("{}{id}", self.controllers(controller_type))
    }

    /// What the keys of that list begin with.
    pub(crate) fn controllers(&self, controller_type: &str) -> String {
        format!("{}/controllers/{controller_type}/", self.prefix)
    }
}

/// A type with a slash would have the keys of another type and instance.
pub(crate) fn check_controller_type(controller_type: &str) -> Result<(), EtcdError> {
    if controller_type.is_empty() || controller_type.contains('/') {
        return Err(EtcdError::ControllerType { controller_type: controller_type.to_owned() });
    }
    Ok(())
}

/// The end of the range of all keys that begin like this, in etcd's way: the same with the last byte one greater.
pub(crate) fn end_of(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    // The text is UTF-8, so no byte is the greatest one.
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

/// What a key has after a prefix.
pub(crate) fn rest_of(key: &[u8], prefix: &str) -> String {
    String::from_utf8_lossy(key.strip_prefix(prefix.as_bytes()).unwrap_or(key)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_documented_form() {
        let (keys, id) = (Keys::new("/windlass/"), InstanceId::new("uuid1"));
        assert_eq!(keys.ring("vm"), "/windlass/rings/vm");
        assert_eq!(keys.lease("vm", &id), "/windlass/leases/vm/uuid1");
        assert_eq!(keys.controller("vm", &id), "/windlass/controllers/vm/uuid1");
        assert_eq!(rest_of(keys.controller("vm", &id).as_bytes(), &keys.controllers("vm")), "uuid1");
    }

    #[test]
    fn a_range_has_the_keys_of_its_type_only() {
        let keys = Keys::new("");
        let (start, end) = (keys.controllers("vm"), end_of(&keys.controllers("vm")));
        let is_in = |key: String| key.as_bytes() >= start.as_bytes() && key.as_bytes() < end.as_slice();
        let id = InstanceId::new("a/b");
        assert!(is_in(keys.controller("vm", &id)));
        assert!(!is_in(keys.controller("vm2", &id)) && !is_in(keys.controller("v", &id)));
        assert!(check_controller_type("vm/a").is_err() && check_controller_type("").is_err());
    }
}
