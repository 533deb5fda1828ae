//! What an installation consists of.

use two_configmaps::TwoConfigMaps;

use super::*;
use crate::managers::{ConfigMapRef, ManagerIdentity};

fn installation() -> Installation {
    let definition = json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition" });
    let controllers = vec![Controller::new(TwoConfigMaps)];
    Installation { definitions: vec![definition], ..Installation::new("pairs", "an/image:1", controllers) }
}

fn kinds(installation: &Installation) -> Vec<String> {
    let objects = installation.objects();
    objects.iter().map(|object| object["kind"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn what_is_needed_comes_before_what_needs_it() {
    let all = "Namespace CustomResourceDefinition ServiceAccount ClusterRole ClusterRoleBinding Deployment";
    assert_eq!(kinds(&installation()).join(" "), all);
    let in_default = Installation { namespace: "default".to_owned(), ..installation() };
    assert!(!kinds(&in_default).contains(&"Namespace".to_owned()));
}

#[test]
fn one_namespace_needs_no_right_outside_it() {
    let confined = Installation { watched_namespaces: vec!["shop".to_owned()], ..installation() };
    let all = "Namespace CustomResourceDefinition ServiceAccount Role RoleBinding Deployment";
    assert_eq!(kinds(&confined).join(" "), all);
    let led = Installation { leader_election: true, ..confined };
    let roles: Vec<Value> = led.objects().into_iter().filter(|object| object["kind"] == "Role").collect();
    let namespaces: Vec<&Value> = roles.iter().map(|role| &role["metadata"]["namespace"]).collect();
    assert_eq!(namespaces, ["pairs", "shop"]);
    assert_eq!(roles[0]["rules"][0]["resources"], json!(["leases"]));
}

#[test]
fn managed_process_has_the_rights_that_this_takes() {
    let rules = |config: ManagerConfig| -> String {
        let installation = Installation { manager_config: Some(config), ..installation() };
        let roles = installation.objects().into_iter().filter(|object| object["kind"] == "Role");
        roles.map(|role| format!("{} {};", role["metadata"]["namespace"], role["rules"])).collect()
    };
    let api = rules(ManagerConfig::Api(ManagerIdentity::new("a").in_namespace("beats")));
    assert!(api.starts_with("\"beats\"") && api.contains("leases"), "{api}");
    let config_map = rules(ManagerConfig::ConfigMap(ConfigMapRef::new()));
    assert!(config_map.starts_with("\"pairs\"") && config_map.contains("configmaps"), "{config_map}");
    let managed = Installation {
        manager_config: Some(ManagerConfig::Api(ManagerIdentity::new("a"))),
        ..installation()
    };
    let cluster_role = managed.objects().into_iter().find(|object| object["kind"] == "ClusterRole");
    let text = cluster_role.expect("a ClusterRole").to_string();
    for part in ["controllermanagertypes", "controllermanagers/status"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn yaml_says_the_same_and_looks_like_it() {
    let objects = [json!({ "kind": "A", "on": "true", "items": [{ "a": 1 }] }), json!({ "kind": "B" })];
    let text = yaml(&objects).expect("YAML");
    let documents: Vec<Value> = text
        .split("---\n")
        .filter(|part| !part.is_empty())
        .map(|part| serde_saphyr::from_str(part).expect("YAML"))
        .collect();
    assert_eq!(documents, objects, "{text}");
    assert!(text.starts_with("---\nitems:\n"), "{text}");
}

#[test]
fn sharded_processes_keep_their_names_and_are_fenced() {
    let sharded = Installation { sharded: true, replicas: 5, ..installation() };
    let objects = sharded.objects();
    let of_kind = |kind: &str| objects.iter().filter(|object| object["kind"] == kind).collect::<Vec<_>>();
    assert!(of_kind("Deployment").is_empty());
    let stateful_set = of_kind("StatefulSet")[0];
    assert_eq!(stateful_set["spec"]["replicas"], 5);
    assert_eq!(stateful_set["spec"]["podManagementPolicy"], "Parallel");
    let container = &stateful_set["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["env"][0]["name"], "POD_NAME");
    let policy = of_kind("ValidatingAdmissionPolicy")[0];
    assert_eq!(policy["spec"]["matchConstraints"]["resourceRules"][0]["resources"], json!(["configmaps"]));
    assert!(policy["spec"]["matchConditions"][0].to_string().contains("system:serviceaccount:pairs:pairs"));
    let binding = of_kind("ValidatingAdmissionPolicyBinding")[0];
    assert_eq!(binding["spec"]["paramRef"]["name"], "two-configmaps");
    let cluster_role = of_kind("ClusterRole")[0].to_string();
    assert!(cluster_role.contains("controllerrings/status"), "{cluster_role}");
}

/// Without rings in the cluster, a policy that has them as parameters could refuse nothing, or everything.
#[test]
fn rings_elsewhere_take_no_policy_and_no_rights() {
    let elsewhere = Installation { sharded: true, rings_in_cluster: false, ..installation() };
    let objects = serde_json::to_string(&elsewhere.objects()).expect("JSON");
    assert!(objects.contains("StatefulSet"));
    for unwanted in ["ValidatingAdmissionPolicy", "controllerrings", "leases"] {
        assert!(!objects.contains(unwanted), "{unwanted}");
    }
}
