//! All operators of virtual networks, with the definitions of what they reconcile.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use windlass::Controller;

use crate::api::definitions;
use crate::settings::MizarSettings;
use crate::{builtins, operators};

/// An operator, and what is said about it.
pub struct Operator {
    /// Its machine.
    pub controller: Controller,
    /// What it does, in one line.
    pub about: &'static str,
    /// The definition of its parents; none if they are Kubernetes' own.
    pub definition: Option<CustomResourceDefinition>,
}

/// All operators: those of mizar's own objects, and those of Kubernetes'.
pub fn suite(settings: &MizarSettings) -> Vec<Operator> {
    let definitions = definitions();
    let controllers = operators::all(settings).into_iter().chain(builtins::all(settings));
    let described = controllers.map(|controller| {
        let parent = controller.declaration().parent();
        let is_its = |definition: &&CustomResourceDefinition| {
            definition.spec.group == *parent.resource.group && definition.spec.names.kind == parent.kind
        };
        let definition = definitions.iter().find(is_its).cloned();
        Operator { about: about(controller.name()), controller, definition }
    });
    described.collect()
}

fn about(controller: &str) -> &'static str {
    match controller {
        "mizar-vpc" => "for each VPC a VNI and dividers",
        "mizar-network" => "for each subnet bouncers",
        "mizar-divider-placement" => "places dividers on droplets",
        "mizar-divider-bouncers" => "lets dividers and bouncers know of each other, from the dividers' side",
        "mizar-divider" => "registers and deletes dividers",
        "mizar-bouncer-placement" => "places bouncers on droplets",
        "mizar-bouncer-endpoints" => {
            "lets bouncers and endpoints know of each other, from the bouncers' side"
        }
        "mizar-bouncer-dividers" => "lets bouncers and dividers know of each other, from the bouncers' side",
        "mizar-bouncer" => "registers and deletes bouncers",
        "mizar-droplet" => "follows the daemons of droplets",
        "mizar-endpoint-address" => "gives endpoints their addresses, and deletes them",
        "mizar-scaled-endpoint" => "gives services their addresses, and deletes them",
        "mizar-endpoint-bouncers" => "lets all bouncers know of an endpoint",
        "mizar-endpoint-host" => "lets the droplet of an endpoint know of all bouncers",
        "mizar-allocation" => "releases what a holder that is gone has left",
        "mizar-defaults" => "the VPC vpc0 and its subnet net0",
        "mizar-node" => "for each node with a daemon a droplet",
        "mizar-pod" => "for each pod an endpoint",
        "mizar-service" => "for each service a scaled endpoint with its backends",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_is_described() {
        for operator in suite(&MizarSettings::default()) {
            assert!(!operator.about.is_empty(), "{}", operator.controller.name());
        }
    }
}
