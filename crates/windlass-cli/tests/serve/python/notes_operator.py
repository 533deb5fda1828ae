"""A small operator as kopf's documentation has them: for each note a config map, and a farewell when it goes."""

import kopf
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

NOTES = ("example.com", "v1", "notes")


@kopf.on.startup()
def configure(settings, **_):
    config.load_kube_config()
    settings.persistence.finalizer = "example.com/kopf"
    settings.networking.error_backoffs = [0.1, 0.2, 0.5]
    settings.watching.reconnect_backoff = 0.1


@kopf.on.create(*NOTES)
def create_map(spec, name, namespace, body, retry, **_):
    if spec["text"] == "troublesome" and retry == 0:
        raise kopf.TemporaryError("not yet", delay=0.1)
    if spec["text"] == "impossible":
        kopf.warn(body, reason="GivenUp", message=f"cannot make {name}")
        raise kopf.PermanentError("never")
    data = {"metadata": {"name": name}, "data": {"text": spec["text"]}}
    kopf.adopt(data)
    try:
        client.CoreV1Api().create_namespaced_config_map(namespace, data)
    except ApiException as error:
        # After a crash it may be there already.
        if error.status != 409:
            raise
    kopf.info(body, reason="Made", message=f"made {name}")
    return {"map": name}


@kopf.on.update(*NOTES, field="spec.text")
def change_map(old, new, name, namespace, **_):
    data = {"data": {"text": new, "before": old}}
    client.CoreV1Api().patch_namespaced_config_map(name, namespace, data)


@kopf.on.delete(*NOTES)
def say_farewell(name, namespace, **_):
    data = {"metadata": {"name": f"farewell-{name}"}}
    client.CoreV1Api().create_namespaced_config_map(namespace, data)


@kopf.on.timer(*NOTES, interval=0.2)
def tick(patch, status, **_):
    if status.get("ticks", 0) < 3:
        patch.status["ticks"] = status.get("ticks", 0) + 1


@kopf.daemon(*NOTES)
async def watch_over(stopped, patch, **_):
    patch.metadata.annotations["example.com/watched"] = "yes"
    await stopped.wait(0.1)
