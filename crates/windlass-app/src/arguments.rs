//! Flags that a program adds to `run` and `manifests`.

use clap::Args;
use windlass_runtime::Manager;

/// The program's own flags of `run` and `manifests`, and how they configure the manager. `run` takes them, and
/// `manifests` writes those that it is given into the Deployment.
///
/// ```no_run
/// use clap::Args;
/// use web_app::{Dns, HttpDns, WebApps};
/// use windlass_app::ManagerArguments;
/// use windlass_runtime::Manager;
///
/// #[derive(Args)]
/// struct DnsArguments {
///     /// URL of the DNS service.
///     #[arg(long, value_name = "URL")]
///     dns: String,
/// }
///
/// impl ManagerArguments for DnsArguments {
///     fn configure(&self, manager: Manager) -> anyhow::Result<Manager> {
///         Ok(manager.service(Dns, HttpDns::new(&self.dns)))
///     }
/// }
///
/// fn main() -> std::process::ExitCode {
///     windlass_app::main(|app| app.arguments::<DnsArguments>().controller(WebApps))
/// }
/// ```
pub trait ManagerArguments: Args + 'static {
    /// Configures the manager, for example adds clients of external services.
    ///
    /// # Errors
    /// A flag has a value that cannot be used.
    fn configure(&self, manager: Manager) -> anyhow::Result<Manager>;
}

/// No further flags.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct NoArguments {}

impl ManagerArguments for NoArguments {
    fn configure(&self, manager: Manager) -> anyhow::Result<Manager> {
        Ok(manager)
    }
}
