//! `windlass serve` as a process, driven by the clients that people use.

mod crash;
mod disk_full;
mod eventually;
mod helm;
mod hostile;
mod kube_rs;
mod kubectl;
mod lifecycle;
mod local;
mod manifests;
mod operations;
mod plans;
mod python;
mod rbac;
mod runs;
mod served;
mod started;
mod traces;
mod workloads;
