"""Watches: resumed, expired, bounded, shared; and what is built on them, an informer and a leader election."""

import threading

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

# Timeout of each wait.
TIMEOUT_SECONDS = 120

config.load_kube_config()
core = client.CoreV1Api()


def config_map(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"app": name}), data=data)


names = ["a", "b", "c"]
for name in names:
    core.create_namespaced_config_map("default", config_map(name))

# A watch goes on where it was.
version = core.list_namespaced_config_map("default").metadata.resource_version
core.create_namespaced_config_map("default", config_map("late", step="1"))
watcher, seen = watch.Watch(), []
for event in watcher.stream(core.list_namespaced_config_map, "default", resource_version=version):
    seen.append((event["type"], event["object"].metadata.name))
    if event["type"] == "ADDED":
        core.patch_namespaced_config_map("late", "default", {"data": {"step": "2"}})
    elif event["type"] == "MODIFIED":
        core.delete_namespaced_config_map("late", "default")
    else:
        watcher.stop()
assert seen == [("ADDED", "late"), ("MODIFIED", "late"), ("DELETED", "late")], seen
again = watch.Watch()
for event in again.stream(core.list_namespaced_config_map, "default", resource_version=version):
    assert (event["type"], event["object"].data) == ("ADDED", {"step": "1"}), event
    again.stop()

# A watch without a version begins with what there is; one with a timeout ends by itself.
first = watch.Watch().stream(core.list_namespaced_config_map, "default", timeout_seconds=1)
assert [event["object"].metadata.name for event in first] == names

# Two threads watch while a third writes.
found = []


def look_for(name):
    for event in watch.Watch().stream(core.list_namespaced_config_map, "default", timeout_seconds=TIMEOUT_SECONDS):
        if event["object"].metadata.name == name:
            found.append(name)
            return


threads = [threading.Thread(target=look_for, args=["both"]) for _ in range(2)]
for thread in threads:
    thread.start()
core.create_namespaced_config_map("default", config_map("both"))
for thread in threads:
    thread.join()
assert found == ["both", "both"]

# A watch with a selector sees objects come and go as they begin and cease to match.
seen, watcher = [], watch.Watch()
chosen = {"label_selector": "chosen=yes", "resource_version": version}
core.patch_namespaced_config_map("a", "default", {"metadata": {"labels": {"chosen": "yes"}}})
core.patch_namespaced_config_map("a", "default", {"metadata": {"labels": {"chosen": "no"}}})
for event in watcher.stream(core.list_namespaced_config_map, "default", **chosen):
    seen.append((event["type"], event["object"].metadata.name))
    if event["type"] == "DELETED":
        watcher.stop()
assert seen == [("ADDED", "a"), ("DELETED", "a")], seen

# An informer keeps up.
informer = SharedInformer(core.list_namespaced_config_map, namespace="default")
added, removed = threading.Event(), threading.Event()
informer.add_event_handler("ADDED", lambda it: it.metadata.name == "informed" and added.set())
informer.add_event_handler("DELETED", lambda it: it.metadata.name == "informed" and removed.set())
informer.start()
core.create_namespaced_config_map("default", config_map("informed"))
assert added.wait(TIMEOUT_SECONDS)
assert {"default/a", "default/informed"} <= set(informer.cache.list_keys()), informer.cache.list_keys()
core.delete_namespaced_config_map("informed", "default")
assert removed.wait(TIMEOUT_SECONDS)
informer.stop()

# One of two becomes the leader; the other sees who it is.
leading = threading.Event()
lock = LeaseLock("leader", "default", "first")
election = electionconfig.Config(
    lock, lease_duration=17, renew_deadline=15, retry_period=5, onstarted_leading=leading.set, onstopped_leading=None
)
threading.Thread(target=leaderelection.LeaderElection(election).run, daemon=True).start()
assert leading.wait(TIMEOUT_SECONDS)
lease = client.CoordinationV1Api().read_namespaced_lease("leader", "default")
assert (lease.spec.holder_identity, lease.spec.lease_duration_seconds) == ("first", 17), lease.spec
assert lease.spec.renew_time.tzinfo is not None

# What happened long ago is forgotten: the watch gets a 410, and starts again with a list.
for number in range(20):
    big = {"data": {"filler": "x" * (900_000 + number)}}
    core.patch_namespaced_config_map("b", "default", big)
try:
    for event in watch.Watch().stream(
        core.list_namespaced_config_map, "default", resource_version=version, timeout_seconds=TIMEOUT_SECONDS
    ):
        raise AssertionError(f"this is forgotten: {event['type']}")
    raise AssertionError("the watch ended without a word")
except ApiException as error:
    assert error.status == 410 and "too old resource version" in error.reason, error
newest = core.list_namespaced_config_map("default").metadata.resource_version
core.create_namespaced_config_map("default", config_map("after"))
watcher = watch.Watch()
for event in watcher.stream(core.list_namespaced_config_map, "default", resource_version=newest):
    assert event["object"].metadata.name == "after"
    watcher.stop()
print("ok")
