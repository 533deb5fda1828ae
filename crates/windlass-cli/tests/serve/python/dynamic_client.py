"""Custom types: definitions, the custom objects API, the dynamic client with discovery, objects from YAML files."""

import tempfile
import pathlib

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError, ResourceNotFoundError

config.load_kube_config()
api_client = client.ApiClient()
extensions, custom, core = client.ApiextensionsV1Api(), client.CustomObjectsApi(), client.CoreV1Api()
definition = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "notes.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Note", "plural": "notes", "singular": "note", "shortNames": ["nt"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["text"],
                                "properties": {
                                    "text": {"type": "string"},
                                    "size": {"type": "integer", "default": 1, "maximum": 9},
                                },
                            },
                            "status": {"type": "object", "properties": {"read": {"type": "boolean"}}},
                        },
                    }
                },
            }
        ],
    },
}
extensions.create_custom_resource_definition(definition)
watcher = watch.Watch()
for event in watcher.stream(extensions.list_custom_resource_definition, timeout_seconds=120):
    conditions = (event["object"].status and event["object"].status.conditions) or []
    if any(condition.type == "Established" and condition.status == "True" for condition in conditions):
        watcher.stop()

# The custom objects API.
where = ("example.com", "v1", "default", "notes")
note = {"apiVersion": "example.com/v1", "kind": "Note", "metadata": {"name": "a"}, "spec": {"text": "hi"}}
made = custom.create_namespaced_custom_object(*where, note)
assert made["spec"] == {"text": "hi", "size": 1} and made["metadata"]["generation"] == 1
assert custom.get_namespaced_custom_object(*where, "a")["metadata"]["uid"] == made["metadata"]["uid"]
patched = custom.patch_namespaced_custom_object(*where, "a", {"spec": {"size": 2}})
assert (patched["spec"]["size"], patched["metadata"]["generation"]) == (2, 2)
status = custom.patch_namespaced_custom_object_status(*where, "a", {"status": {"read": True}})
assert status["status"] == {"read": True} and status["metadata"]["generation"] == 2
try:
    custom.patch_namespaced_custom_object(*where, "a", {"spec": {"size": 10}})
    raise AssertionError("10 is too large")
except ApiException as error:
    assert error.status == 422 and "less than or equal to 9" in error.body, error.body
assert len(custom.list_namespaced_custom_object(*where)["items"]) == 1
assert len(custom.list_cluster_custom_object("example.com", "v1", "notes")["items"]) == 1

# The dynamic client finds types by discovery.
found = dynamic.DynamicClient(api_client)
notes = found.resources.get(api_version="example.com/v1", kind="Note")
assert (notes.name, notes.namespaced, notes.short_names) == ("notes", True, ["nt"])
assert "get" in notes.verbs and "status" in notes.subresources
assert notes.get(name="a", namespace="default").spec.text == "hi"
listed = notes.get(namespace="default", label_selector="missing")
assert listed.items == []
applied = {
    "apiVersion": "example.com/v1",
    "kind": "Note",
    "metadata": {"name": "applied"},
    "spec": {"text": "mine"},
}
first = notes.server_side_apply(body=applied, namespace="default", field_manager="first")
assert first.metadata.managedFields[0].manager == "first"
applied["spec"]["text"] = "theirs"
try:
    notes.server_side_apply(body=applied, namespace="default", field_manager="second")
    raise AssertionError("the field belongs to another")
except ConflictError as error:
    assert ".spec.text" in error.body, error.body
forced = notes.server_side_apply(
    body=applied, namespace="default", field_manager="second", force_conflicts=True
)
assert forced.spec.text == "theirs"
for event in notes.watch(namespace="default", timeout=60, field_selector="metadata.name=applied"):
    assert (event["type"], event["object"].spec.text) == ("ADDED", "theirs")
    break
notes.delete(name="applied", namespace="default")
try:
    notes.get(name="applied", namespace="default")
    raise AssertionError("it is gone")
except NotFoundError:
    pass
try:
    found.resources.get(api_version="example.com/v1", kind="Nothing")
    raise AssertionError("there is no such type")
except ResourceNotFoundError:
    pass
groups = {group.name for group in client.ApisApi().get_api_versions().groups}
assert {"apps", "batch", "example.com", "rbac.authorization.k8s.io"} <= groups, groups
resources = {resource.name for resource in client.AppsV1Api().get_api_resources().resources}
assert {"deployments", "deployments/scale", "deployments/status"} <= resources, resources
deployments = found.resources.get(api_version="apps/v1", kind="Deployment")
assert deployments.get(namespace="default").items == []

# Objects from a file of several documents.
manifest = """
apiVersion: v1
kind: ConfigMap
metadata: {name: from-yaml}
data: {a: "1"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: from-yaml}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: a, image: b}]}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: from-yaml}}
"""
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "objects.yaml"
    path.write_text(manifest)
    utils.create_from_yaml(api_client, str(path), namespace="default")
    try:
        utils.create_from_yaml(api_client, str(path), namespace="default")
        raise AssertionError("they are there already")
    except utils.FailToCreateError as error:
        assert len(error.api_exceptions) == 3, error
assert core.read_namespaced_config_map("from-yaml", "default").data == {"a": "1"}
print("ok")
