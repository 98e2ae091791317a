"""Fails if a dependency needs a newer compiler than the manifest promises."""
import json
import subprocess
import sys

packages = json.loads(
    subprocess.run(
        ["cargo", "metadata", "--locked", "--format-version", "1", "--all-features"],
        check=True,
        capture_output=True,
    ).stdout
)
ours = {"toolfall", "toolfall-layers"}
by_id = {package["id"]: package for package in packages["packages"]}
nodes = {node["id"]: node for node in packages["resolve"]["nodes"]}


def version(text):
    parts = [int(part) for part in (text or "0").split(".")]
    return tuple(parts + [0] * (3 - len(parts)))


promised = version(next(p for p in by_id.values() if p["name"] == "toolfall")["rust_version"])
# What users build: normal and build dependencies, not those of tests.
seen, open_ = set(), [id for id, package in by_id.items() if package["name"] in ours]
while open_:
    id = open_.pop()
    if id in seen:
        continue
    seen.add(id)
    for dependency in nodes[id]["deps"]:
        if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"]):
            open_.append(dependency["pkg"])
newer = [
    f"{by_id[id]['name']} {by_id[id]['version']} needs {by_id[id]['rust_version']}"
    for id in seen
    if version(by_id[id]["rust_version"]) > promised
]
print("\n".join(newer) or f"all {len(seen)} packages build with {'.'.join(map(str, promised))}")
sys.exit(bool(newer))
