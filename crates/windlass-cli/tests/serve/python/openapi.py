"""Requests that schemathesis makes up from the server's own OpenAPI documents: none finds a fault.

WINDLASS_EXAMPLES says how many examples of each operation.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

config.load_kube_config()
settings = client.Configuration.get_default_copy()
token = client.ApiClient().configuration.get_api_key_with_prefix("BearerToken")
examples = os.environ.get("WINDLASS_EXAMPLES", "2")
here = pathlib.Path(__file__).parent

text = {"type": "string", "maxLength": 20}
properties = {
    "text": text,
    "size": {"type": "integer", "default": 1},
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "either": {"x-kubernetes-int-or-string": True},
    "tags": {"type": "array", "items": text, "x-kubernetes-list-type": "set", "maxItems": 4},
}
spec = {
    "type": "object",
    "required": ["text"],
    "properties": properties,
    "x-kubernetes-validations": [{"rule": "!has(self.tags) || self.tags.all(tag, tag.size() < 4)"}],
}
status = {"type": "object", "properties": {"size": {"type": "integer"}}}
version = {
    "name": "v1",
    "served": True,
    "storage": True,
    "subresources": {
        "status": {},
        "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
    },
    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
}
definition = {
    "metadata": {"name": "notes.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Note", "plural": "notes"},
        "versions": [version],
    },
}
client.ApiextensionsV1Api().create_custom_resource_definition(definition)
note = {"apiVersion": "example.com/v1", "kind": "Note", "metadata": {"name": "a"}, "spec": {"text": "hi"}}
for attempt in range(1000):
    try:
        client.CustomObjectsApi().create_namespaced_custom_object(
            "example.com", "v1", "default", "notes", note
        )
        break
    except ApiException as error:
        # The type is not served yet.
        assert error.status == 404, error
        time.sleep(0.02)

failed = []
scratch = tempfile.mkdtemp()
for group_version in ("apis/example.com/v1", "apis/apps/v1", "api/v1"):
    command = [
        str(pathlib.Path(sys.executable).parent / "schemathesis"),
        "run",
        f"{settings.host}/openapi/v3/{group_version}",
        *("--url", settings.host),
        *("--header", f"Authorization: {token}"),
        *("--tls-verify", settings.ssl_ca_cert or "false"),
        *("--checks", "no_fault"),
        *("--phases", "fuzzing"),
        *("--max-examples", examples),
        *("--seed", "1"),
        *("--workers", "8"),
        *("--request-timeout", "60"),
        *("--warnings", "off"),
        *("--suppress-health-check", "all"),
        "--no-shrink",
        "--continue-on-failure",
    ]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "openapi_hooks", "PYTHONPATH": str(here)}
    if subprocess.run(command, env=environment, cwd=scratch, check=False).returncode:
        failed.append(group_version)
shutil.rmtree(scratch)
assert client.CoreV1Api().list_namespace().items, "the server lives"
assert not failed, failed
print("ok")
