"""One peer, one model, one shape, in one process, driven over standard input and output.

    peer.py --model minilm --peer onnxruntime --threads 2 --shape 1x16

Prints one JSON line when it is ready:
    {"ready": s, "first": s, "import": s, ...}   ready: from the model's file to a runnable object;
                                                 first: its first run, compilation included
then answers each line of input with one line:
    run N   N timed runs -> a JSON list of N times in ms (inputs bound, outputs dropped)
    quit    ends
A driver that holds several such processes, Tenon's among them, alternates between them, so that
what else the machine does falls on all alike.
"""

import argparse
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import time

PEERS = ["eager", "torch.compile", "torch.compile-frozen", "onnxruntime", "openvino"]
MODELS = ["minilm", "bert_base", "gpt2"]
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "models"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--peer", choices=PEERS, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--shape", default="1x16", help="BATCHxLENGTH")
    parser.add_argument("--dump", type=pathlib.Path, help="folder for in0.npy, out_PEER.npy ...")
    parser.add_argument("--inputs", type=pathlib.Path, help="folder of in0.npy ..., instead of drawing them")
    parser.add_argument("--cold", action="store_true", help="torch.compile with empty caches")
    arguments = parser.parse_args()
    arguments.batch, arguments.length = (int(part) for part in arguments.shape.split("x"))
    return arguments


def make_inputs(name: str, batch: int, length: int) -> dict:
    """Name -> numpy array; the same for every peer."""
    import language_models
    import sentence_model

    model = {
        "minilm": sentence_model.SentenceModel,
        "bert_base": language_models.BertBase,
        "gpt2": language_models.Gpt2,
    }[name]
    arrays = language_models.example_inputs(model, batch, length)
    return dict(zip(["ids", "mask"], (array.numpy() for array in arrays)))


def read_inputs(folder: pathlib.Path) -> dict:
    """The same from files: ONNX Runtime and OpenVINO then start without PyTorch."""
    import numpy as np

    paths = [folder / f"in{position}.npy" for position in range(2)]
    return {name: np.load(path) for name, path in zip(["ids", "mask"], paths) if path.is_file()}


def load_torch(name: str):
    import language_models
    import sentence_model

    if name == "minilm":
        return sentence_model.load_sentence_model("sdpa")
    return language_models.load_language_model(name)


def onnx_file(name: str) -> pathlib.Path:
    """The ONNX form of the same exported program, made once."""
    import places

    folder = places.models_folder()
    path = folder / f"{name}.onnx"
    if not path.is_file():
        import torch

        source = folder / ("minilm_sdpa.pt2" if name == "minilm" else f"{name}.pt2")
        if not source.is_file():
            sys.exit(f"{source} is missing; run {EXAMPLES}'s export scripts")
        # Exporters talk on standard output, which is the driver's.
        keep, sys.stdout = sys.stdout, sys.stderr
        program = torch.onnx.export(
            torch.export.load(source), dynamo=True, optimize=True, verbose=False
        )
        program.save(str(path), external_data=True)
        sys.stdout = keep
    return path


def torch_peer(arguments: argparse.Namespace, inputs: dict):
    import torch

    torch.set_num_threads(arguments.threads)
    torch.set_num_interop_threads(1)
    tensors = [torch.from_numpy(array) for array in inputs.values()]
    start = time.perf_counter()
    model = load_torch(arguments.model)
    if arguments.peer != "eager":
        from torch._inductor import config as inductor

        inductor.freezing = arguments.peer == "torch.compile-frozen"
        model = torch.compile(model, dynamic=False)
    ready = time.perf_counter() - start
    return ready, lambda: model(*tensors), lambda result: result.numpy(), torch.inference_mode()


def onnxruntime_peer(arguments: argparse.Namespace, inputs: dict):
    import onnxruntime as ort

    path = onnx_file(arguments.model)
    options = ort.SessionOptions()
    options.intra_op_num_threads = arguments.threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    start = time.perf_counter()
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    ready = time.perf_counter() - start
    feed = {value.name: inputs[value.name] for value in session.get_inputs()}
    run = lambda: session.run(None, feed)
    return ready, run, lambda results: results[0], contextlib.nullcontext()


def openvino_peer(arguments: argparse.Namespace, inputs: dict):
    import openvino

    path = onnx_file(arguments.model)
    core = openvino.Core()
    start = time.perf_counter()
    compiled = core.compile_model(
        core.read_model(path),
        "CPU",
        {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": arguments.threads,
            "NUM_STREAMS": "1",
            # Its own choice would be bfloat16 where the processor has it: not the same numbers.
            "INFERENCE_PRECISION_HINT": "f32",
        },
    )
    request = compiled.create_infer_request()
    ready = time.perf_counter() - start
    for port in compiled.inputs:
        request.set_tensor(port, openvino.Tensor(inputs[port.get_any_name()], shared_memory=True))
    result = compiled.outputs[0]
    return ready, request.infer, lambda results: results[result], contextlib.nullcontext()


def serve(arguments, inputs, run, to_numpy, facts, replies) -> None:
    """Answers the driver until it says quit."""

    def reply(value) -> None:
        print(json.dumps(value), file=replies, flush=True)

    start = time.perf_counter()
    result = run()
    facts["first"] = time.perf_counter() - start
    if arguments.dump:
        import numpy as np

        arguments.dump.mkdir(parents=True, exist_ok=True)
        for position, array in enumerate(inputs.values()):
            np.save(arguments.dump / f"in{position}.npy", array)
        np.save(arguments.dump / f"out_{arguments.peer}.npy", to_numpy(result))
    del result
    reply({"peer": arguments.peer, "model": arguments.model, "shape": arguments.shape,
           "threads": arguments.threads, **facts})
    for line in sys.stdin:
        words = line.split()
        if words == ["quit"]:
            break
        if len(words) != 2 or words[0] != "run" or not words[1].isdigit():
            reply({"error": f"expected 'run N' or 'quit', got {line.strip()!r}"})
            continue
        times = []
        for _ in range(int(words[1])):
            start = time.perf_counter_ns()
            run()
            times.append((time.perf_counter_ns() - start) / 1e6)
        reply(times)


def main() -> None:
    arguments = parse()
    # Before anything that reads them is imported.
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(arguments.threads)
    caches = None
    if arguments.cold:
        caches = tempfile.TemporaryDirectory()
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = caches.name
        os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
    sys.path.insert(0, str(EXAMPLES))
    sys.dont_write_bytecode = True
    replies = sys.stdout
    sys.stdout = sys.stderr

    start = time.perf_counter()
    if arguments.inputs:
        inputs = read_inputs(arguments.inputs)
    else:
        inputs = make_inputs(arguments.model, arguments.batch, arguments.length)
    imported = time.perf_counter() - start
    makers = {"onnxruntime": onnxruntime_peer, "openvino": openvino_peer}
    ready, run, to_numpy, mode = makers.get(arguments.peer, torch_peer)(arguments, inputs)
    with mode:
        serve(arguments, inputs, run, to_numpy, {"ready": ready, "import": imported}, replies)


if __name__ == "__main__":
    main()
