//! `greeting run ADDRESS` is the controller, with its metrics and health at an address; without arguments it prints what
//! a cluster needs for it.

use greeting::{Greeter, Greeting};
use kube::CustomResourceExt;
use windlass::Controller;
use windlass_runtime::Manager;
use windlass_runtime::manifests::Installation;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, address] = arguments.as_slice()
        && command == "run"
    {
        tracing_subscriber::fmt().with_writer(std::io::stderr).init();
        Manager::new().controller(Greeter).endpoints(address.parse()?).run().await?;
        return Ok(());
    }
    let controllers = vec![Controller::new(Greeter)];
    let mut installation = Installation::new("greeting", "registry.example/greeting:1", controllers);
    installation.definitions.push(serde_json::to_value(Greeting::crd())?);
    installation.arguments = ["run", "0.0.0.0:8080"].map(str::to_owned).to_vec();
    print!("{}", installation.yaml()?);
    Ok(())
}
