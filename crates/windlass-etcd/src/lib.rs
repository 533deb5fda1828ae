//! The registry of a fleet of instances in etcd: its ring and its leases.
