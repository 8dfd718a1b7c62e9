"""Does what the suite asks of Helm, with charts whose templates are plain manifests. A release is a
file beside this one: `release.yaml`."""

import sys
from pathlib import Path

from conformance.kube import Api, apply_manifests, load_manifests

arguments = sys.argv[1:]
command, rest = arguments[0], arguments[1:]
place = Path(__file__).parent
with (place / "helm.log").open("a", encoding="utf-8") as log:
    log.write(" ".join(arguments) + "\n")
kubeconfig = rest[rest.index("--kubeconfig") + 1]
release = place / "release.yaml"
if command in ("template", "install"):
    chart = Path(rest[1])
    if not chart.is_dir():
        sys.exit(f'Error: path "{chart}" not found')
    text = "\n---\n".join(file.read_text() for file in sorted((chart / "templates").iterdir()))
    if command == "template":
        print(text)
    else:
        release.write_text(text, encoding="utf-8")
        namespace = rest[rest.index("--namespace") + 1]
        manifests = load_manifests(release)
        apply_manifests(
            Api.from_kubeconfig(kubeconfig), manifests, namespace=namespace, manager="helm"
        )
elif command == "get":
    print(release.read_text(encoding="utf-8"))
elif command == "uninstall" and release.exists():
    api = Api.from_kubeconfig(kubeconfig)
    for manifest in load_manifests(release):
        group, _, version = manifest["apiVersion"].rpartition("/")
        resource = api.resource_for(manifest["kind"], group, version)
        api.delete(resource, manifest["metadata"]["name"], manifest["metadata"].get("namespace"))
    release.unlink()
