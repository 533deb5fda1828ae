//! Runs machines on any Kubernetes that a kubeconfig, or the pod's own account, can reach.

mod operations;
mod queue;
