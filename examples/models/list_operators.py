"""Lists what a .pt2 file calls: each operator, how often, and the JSON of one call of it.

Needs Python alone: a .pt2 file is a zip archive with the graph as JSON.
"""

import argparse
import collections
import json
import zipfile


def read_model(path: str) -> dict:
    with zipfile.ZipFile(path) as archive:
        names = [n for n in archive.namelist() if "/models/" in n and n.endswith(".json")]
        if len(names) != 1:
            raise SystemExit(f"{path}: {len(names)} models, expected one")
        return json.loads(archive.read(names[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--counts", action="store_true", help="no example calls")
    arguments = parser.parse_args()
    model = read_model(arguments.file)
    graph = model["graph_module"]["graph"]
    calls = collections.defaultdict(list)
    for node in graph["nodes"]:
        calls[node["target"]].append(node)
    print(f"{arguments.file}: {len(graph['nodes'])} calls of {len(calls)} operators, "
          f"torch {model['torch_version']}, schema {model['schema_version']}, {model['verifiers']}")
    print("ranges", json.dumps(model["range_constraints"]))
    print("guards", json.dumps(model.get("guards_code")))
    print("outputs", json.dumps(model["graph_module"]["signature"]["output_specs"]))
    for target, nodes in sorted(calls.items(), key=lambda item: (-len(item[1]), item[0])):
        print(f"{len(nodes):5d} {target}")
        if arguments.counts:
            continue
        # The call that spells out the most arguments tells the most.
        node = max(nodes, key=lambda n: len(json.dumps([n["inputs"], n["outputs"]])))
        print("      inputs ", json.dumps(node["inputs"]))
        print("      outputs", json.dumps(node["outputs"]))
        for output in node["outputs"]:
            name = output.get("as_tensor", {}).get("name")
            if name:
                meta = graph["tensor_values"][name]
                kept = {key: meta[key] for key in ("dtype", "sizes", "strides")}
                print("      meta   ", name, json.dumps(kept))


if __name__ == "__main__":
    main()
