#!/usr/bin/env python3
"""Write container images to a docker-save archive, without a container engine.

    image_archive.py OUT SPEC.json      (OUT may be - for standard output)

SPEC.json holds a list of images, each made of one layer:

    tags     list of full image names
    root     directory that becomes the image's file system
    exclude  paths below root whose content is left out (the directory stays)
    gzip     true to compress the layer
    owners   true to keep the files' owners; root:root otherwise
    config   the image's "config" object (Entrypoint, Cmd, Env, Labels, ...)

`docker load` and `ctr images import` both read the result.
"""

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import tempfile

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class HashingWriter:
    """Pass writes on to a file and hash them on the way."""

    def __init__(self, raw):
        self.raw = raw
        self.sha256 = hashlib.sha256()

    def write(self, data):
        self.sha256.update(data)
        return self.raw.write(data)


def write_actor(image, out):
    """Write the image's root as a tar to out; return the tar's sha256 (its diff id)."""
    compressed = (
        gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1, mtime=0)
        if image.get("gzip")
        else out
    )
    hashing = HashingWriter(compressed)
    excluded = {path.strip("/") for path in image.get("exclude", [])}

    def keep(member):
        parent = os.path.dirname(member.name)
        while parent:
            if parent in excluded:
                return None
            parent = os.path.dirname(parent)
        if not image.get("owners"):
            member.uid = member.gid = 0
            member.uname = member.gname = "root"
        return member

    with tarfile.open(fileobj=hashing, mode="w|", format=tarfile.PAX_FORMAT) as layer:
        for name in sorted(os.listdir(image["root"])):
            layer.add(os.path.join(image["root"], name), arcname=name, filter=keep)
    if compressed is not out:
        compressed.close()
    return hashing.sha256.hexdigest()


def add_bytes(archive, name, data):
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def add_image(archive, image, scratch):
    """Add one image's layer and configuration; return its manifest entry."""
    with tempfile.TemporaryFile(dir=scratch) as layer:
        diff_id = write_actor(image, layer)
        member = tarfile.TarInfo(f"{diff_id}/layer.tar")
        member.size = layer.tell()
        layer.seek(0)
        archive.addfile(member, layer)
    machine = os.uname().machine
    config = json.dumps(
        {
            "architecture": ARCHITECTURES.get(machine, machine),
            "os": "linux",
            "config": image.get("config", {}),
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{diff_id}"]},
            "history": [{"created_by": "kind-offline"}],
        },
        sort_keys=True,
    ).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    add_bytes(archive, config_name, config)
    return {"Config": config_name, "RepoTags": image["tags"], "Layers": [member.name]}


def main(out, spec):
    with open(spec, encoding="utf-8") as file:
        images = json.load(file)
    scratch = os.path.dirname(os.path.abspath(spec))
    target = os.fdopen(os.dup(sys.stdout.fileno()), "wb") if out == "-" else open(out, "wb")
    with target, tarfile.open(fileobj=target, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        manifest = [add_image(archive, image, scratch) for image in images]
        add_bytes(archive, "manifest.json", json.dumps(manifest).encode())


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
