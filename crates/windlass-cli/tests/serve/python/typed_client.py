"""The typed client: what most Python programs use."""

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

config.load_kube_config()
core, apps, batch = client.CoreV1Api(), client.AppsV1Api(), client.BatchV1Api()


def refused(code, call, *arguments, **options):
    """Expects a refusal; returns its reason as the API gives it."""
    try:
        call(*arguments, **options)
    except ApiException as error:
        assert error.status == code, (error.status, error.body)
        return error
    raise AssertionError(f"{call.__name__} was not refused")


def config_map(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"app": name}), data=data)


# Create, read, and what is refused.
made = core.create_namespaced_config_map("default", config_map("a", key="1"))
assert made.metadata.uid and made.metadata.creation_timestamp.tzinfo is not None
assert core.read_namespaced_config_map("a", "default").data == {"key": "1"}
assert "AlreadyExists" in refused(409, core.create_namespaced_config_map, "default", config_map("a")).body
assert "NotFound" in refused(404, core.read_namespaced_config_map, "b", "default").body
invalid = refused(422, core.create_namespaced_config_map, "default", config_map("Not A Name"))
assert "metadata.name" in invalid.body
core.create_namespaced_config_map("default", {"metadata": {"name": "odd"}})

# Patches of three kinds, and server-side apply.
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


def patch_map(body, kind, **options):
    return core.patch_namespaced_config_map("a", "default", body, _content_type=kind, **options)


assert patch_map({"data": {"key": "2"}}, STRATEGIC).data == {"key": "2"}
assert patch_map({"data": {"extra": "1"}}, MERGE).data == {"key": "2", "extra": "1"}
assert patch_map({"data": {"extra": None}}, MERGE).data == {"key": "2"}
operations = [
    {"op": "test", "path": "/data/key", "value": "2"},
    {"op": "add", "path": "/data/more", "value": "3"},
]
assert patch_map(operations, JSON).data == {"key": "2", "more": "3"}
refused(422, patch_map, [{"op": "test", "path": "/data/key", "value": "9"}], JSON)
refused(415, patch_map, {"data": {}}, "application/unheard-of+json")
applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"key": "applied"}}
conflict = refused(409, patch_map, applied, APPLY, field_manager="applier")
assert ".data.key" in conflict.body, conflict.body
assert patch_map(applied, APPLY, field_manager="applier", force=True).data["key"] == "applied"
owners = core.read_namespaced_config_map("a", "default").metadata.managed_fields
assert ("applier", "Apply") in [(owner.manager, owner.operation) for owner in owners], owners
applied["data"] = {}
assert patch_map(applied, APPLY, field_manager="applier").data == {"more": "3"}
by_apply = core.patch_namespaced_config_map(
    "applied",
    "default",
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}},
    _content_type=APPLY,
    field_manager="applier",
)
assert by_apply.metadata.uid
core.delete_namespaced_config_map("applied", "default")
patch_map({"data": {"key": "2"}}, MERGE)
stale = made
stale.data = {"key": "stale"}
assert "Conflict" in refused(409, core.replace_namespaced_config_map, "a", "default", stale).body
dry = core.patch_namespaced_config_map("a", "default", {"data": {"key": "dry"}}, dry_run="All")
assert dry.data["key"] == "dry" and core.read_namespaced_config_map("a", "default").data["key"] == "2"

# Lists: selectors and pages.
for number in range(5):
    core.create_namespaced_config_map("default", config_map(f"page-{number}"))
page = core.list_namespaced_config_map("default", limit=2)
names = [item.metadata.name for item in page.items]
assert len(names) == 2 and page.metadata.remaining_item_count == 5
while page.metadata._continue:
    page = core.list_namespaced_config_map("default", limit=2, _continue=page.metadata._continue)
    names += [item.metadata.name for item in page.items]
assert names == ["a", "odd"] + [f"page-{number}" for number in range(5)], names
chosen = core.list_config_map_for_all_namespaces(label_selector="app in (a, page-1)")
assert [item.metadata.name for item in chosen.items] == ["a", "page-1"]
chosen = core.list_namespaced_config_map("default", field_selector="metadata.name=page-2")
assert [item.metadata.name for item in chosen.items] == ["page-2"]
refused(400, core.list_namespaced_config_map, "default", field_selector="data.key=1")

# Workloads: defaults, status and scale by their own doors.
template = client.V1PodTemplateSpec(
    metadata=client.V1ObjectMeta(labels={"app": "web"}),
    spec=client.V1PodSpec(containers=[client.V1Container(name="web", image="nginx")]),
)
deployment = client.V1Deployment(
    metadata=client.V1ObjectMeta(name="web"),
    spec=client.V1DeploymentSpec(selector={"matchLabels": {"app": "web"}}, template=template),
)
made = apps.create_namespaced_deployment("default", deployment)
assert (made.spec.replicas, made.spec.strategy.type) == (1, "RollingUpdate")
scale = apps.read_namespaced_deployment_scale("web", "default")
scale.spec.replicas = 3
assert apps.replace_namespaced_deployment_scale("web", "default", scale).spec.replicas == 3
status = apps.patch_namespaced_deployment_status("web", "default", {"status": {"replicas": 3}})
assert status.status.replicas == 3 and status.spec.replicas == 3
# A strategic merge finds the container by its name; a plain merge replaces the list.
image = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}}
both = apps.patch_namespaced_deployment("web", "default", image, _content_type=STRATEGIC)
assert [container.name for container in both.spec.template.spec.containers] == ["side", "web"]
one = apps.patch_namespaced_deployment("web", "default", image, _content_type=MERGE)
assert [container.name for container in one.spec.template.spec.containers] == ["side"]
pod = core.create_namespaced_pod(
    "default",
    client.V1Pod(
        metadata=client.V1ObjectMeta(name="p"),
        spec=client.V1PodSpec(containers=[client.V1Container(name="a", image="b")]),
    ),
)
assert pod.status.phase == "Pending" and pod.spec.restart_policy == "Always"
target = client.V1ObjectReference(kind="Node", name="somewhere")
core.create_namespaced_pod_binding(
    "p",
    "default",
    client.V1Binding(metadata=client.V1ObjectMeta(name="p"), target=target),
    _preload_content=False,
)
assert core.read_namespaced_pod("p", "default").spec.node_name == "somewhere"
core.patch_namespaced_pod_status("p", "default", {"status": {"phase": "Running"}})
assert core.read_namespaced_pod_status("p", "default").status.phase == "Running"
core.create_namespaced_pod_eviction(
    "p", "default", client.V1Eviction(metadata=client.V1ObjectMeta(name="p")), _preload_content=False
)
secret = core.create_namespaced_secret(
    "default", client.V1Secret(metadata=client.V1ObjectMeta(name="s"), string_data={"a": "b"})
)
assert secret.data == {"a": "Yg=="}
job = client.V1Job(
    metadata=client.V1ObjectMeta(generate_name="job-"),
    spec=client.V1JobSpec(
        template=client.V1PodTemplateSpec(
            spec=client.V1PodSpec(
                restart_policy="Never", containers=[client.V1Container(name="a", image="b")]
            )
        )
    ),
)
assert batch.create_namespaced_job("default", job).metadata.name.startswith("job-")

# Deletes: with a precondition, many at once, and a namespace with all that is in it.
wrong = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="other"))
refused(409, core.delete_namespaced_config_map, "a", "default", body=wrong)
assert core.delete_namespaced_config_map("a", "default")["status"] == "Success"
core.delete_collection_namespaced_config_map("default", label_selector="app")
left = core.list_namespaced_config_map("default")
assert [item.metadata.name for item in left.items] == ["odd"]
core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name="team")))
core.create_namespaced_config_map("team", config_map("a"))
version = core.list_namespace().metadata.resource_version
core.delete_namespace("team")
watcher = watch.Watch()
for event in watcher.stream(core.list_namespace, resource_version=version, timeout_seconds=120):
    if event["type"] == "DELETED" and event["object"].metadata.name == "team":
        watcher.stop()
refused(404, core.read_namespace, "team")

# A wrong token is not authenticated.
stranger = client.Configuration.get_default_copy()
stranger.api_key, stranger.refresh_api_key_hook = {"BearerToken": "Bearer guessed"}, None
guessing = client.CoreV1Api(client.ApiClient(stranger))
assert "Unauthorized" in refused(401, guessing.list_namespace).body
version = client.VersionApi().get_code()
assert version.major == "1", version
print("ok")
