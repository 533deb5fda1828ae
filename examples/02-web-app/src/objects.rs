//! The objects that are made for an app.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapVolumeSource, Container, ContainerPort, EnvFromSource, PodSpec, PodTemplateSpec,
    SecretEnvSource, Service, ServicePort, ServiceSpec, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::ObjectMeta;

use crate::web_app::WebApp;

/// Where an app listens.
const APP_PORT: i32 = 8080;
/// Where its Service does.
const SERVICE_PORT: i32 = 80;

/// The ConfigMap of an app: its configuration file.
pub fn config_map(app: &WebApp) -> ConfigMap {
    ConfigMap {
        metadata: named(app),
        data: Some(BTreeMap::from([("app.conf".to_owned(), app.spec.config.clone())])),
        ..ConfigMap::default()
    }
}

/// The Deployment of an app.
pub fn deployment(app: &WebApp) -> Deployment {
    let labels = labels(app);
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: Some(labels.clone()), ..ObjectMeta::default() }),
        spec: Some(pod(app)),
    };
    let spec = DeploymentSpec {
        replicas: Some(app.spec.replicas),
        selector: LabelSelector { match_labels: Some(labels), ..LabelSelector::default() },
        template,
        ..DeploymentSpec::default()
    };
    Deployment { metadata: named(app), spec, ..Deployment::default() }
}

/// The Service of an app that is exposed.
pub fn service(app: &WebApp) -> Service {
    let port = ServicePort { name: Some("http".to_owned()), port: SERVICE_PORT, ..ServicePort::default() };
    let spec = ServiceSpec { selector: Some(labels(app)), ports: Some(vec![port]), ..ServiceSpec::default() };
    Service { metadata: named(app), spec: Some(spec), ..Service::default() }
}

fn pod(app: &WebApp) -> PodSpec {
    let from_secret = |name: &String| EnvFromSource {
        secret_ref: Some(SecretEnvSource { name: name.clone(), ..SecretEnvSource::default() }),
        ..EnvFromSource::default()
    };
    let mount = VolumeMount {
        name: "config".to_owned(),
        mount_path: "/etc/web-app".to_owned(),
        read_only: Some(true),
        ..VolumeMount::default()
    };
    let container = Container {
        name: "app".to_owned(),
        image: Some(app.spec.image.clone()),
        env_from: app.spec.database_secret.as_ref().map(|name| vec![from_secret(name)]),
        ports: Some(vec![ContainerPort { container_port: APP_PORT, ..ContainerPort::default() }]),
        volume_mounts: Some(vec![mount]),
        ..Container::default()
    };
    let source = ConfigMapVolumeSource { name: name_of(app), ..ConfigMapVolumeSource::default() };
    let volume = Volume { name: "config".to_owned(), config_map: Some(source), ..Volume::default() };
    PodSpec { containers: vec![container], volumes: Some(vec![volume]), ..PodSpec::default() }
}

/// All of an app's objects have its name.
fn named(app: &WebApp) -> ObjectMeta {
    ObjectMeta { name: Some(name_of(app)), labels: Some(labels(app)), ..ObjectMeta::default() }
}

fn labels(app: &WebApp) -> BTreeMap<String, String> {
    BTreeMap::from([("app.kubernetes.io/name".to_owned(), name_of(app))])
}

fn name_of(app: &WebApp) -> String {
    app.metadata.name.clone().unwrap_or_default()
}
