//! Shows that instances that share the objects of a controller never write one of them at the same time, and never lose
//! one: the [`audit::Auditor`] proves it from the history of the API server.

pub mod audit;
