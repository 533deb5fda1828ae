//! The model for controllers of your own: a `WebApp` becomes a ConfigMap, a Deployment and, if it is exposed, a Service
//! and a name in an external DNS.
//!
//! Read [`WebApps`] first: branches, a wait for what somebody else makes, a finalizer machine. [`Dns`] is the external
//! service: [`HttpDns`] calls it in production, and [`Zone`] is its model in checks. [`worlds`] says
//! what must hold: `tests/check.rs` checks it, and so does `windlass check web-app`.

mod controller;
mod dns;
mod finalizer;
mod http_dns;
mod objects;
pub mod toy_dns;
mod web_app;
pub mod worlds;

pub use controller::WebApps;
pub use dns::{Dns, Record, RecordAnswer, RecordRequest, Zone, host_name};
pub use finalizer::WithdrawName;
pub use http_dns::HttpDns;
pub use objects::{config_map, deployment, service};
pub use web_app::{WAITING_APP_LABEL, WebApp, WebAppSpec, web_app};
