"""The requests of deploy/image_test.sh: `image_test_client.py <check> <address> [argument]`.

It shares nothing with the service but HTTP, and needs the standard library only.
"""

import json
import struct
import sys
import time
import urllib.error
import urllib.request


def ask(path, body=None, accept="application/json"):
    headers = {"Accept": accept, "Content-Type": "application/json"}
    request = urllib.request.Request(url + path, body and json.dumps(body).encode(), headers)
    return opener.open(request, timeout=30)


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"FAILED: {what}: got {got!r}, not {wanted!r}")
    print(f"    {what}: {got}")


def wait_until_ready(seconds):
    deadline = time.monotonic() + float(seconds)
    while True:
        try:
            return ask("/readyz").close()
        except OSError as error:
            if time.monotonic() > deadline:
                sys.exit(f"FAILED: not ready after {seconds} s: {error}")
            time.sleep(0.02)


def check_answers():
    answer = json.load(ask("/v1/check?input=8,1,6,1&input=7,1,5"))
    expect("8x1x6x1 with 7x1x5: compatible", answer["compatible"], True)
    expect("8x1x6x1 with 7x1x5: shape", answer["shape"], [8, 7, 6, 5])
    axes = [each["axes"] for each in answer["broadcast_inputs"]]
    expect("8x1x6x1 with 7x1x5: axes", axes, [[0, 1, 2, 3], [1, 2, 3]])
    answer = json.load(ask("/v1/check?input=3&input=4"))
    expect("3 with 4: compatible", answer["compatible"], False)
    expect("3 with 4: code", answer["conflict"]["code"], "size-mismatch")

    op = {"name": "ngraph.Broadcast", "shape": [2, 3], "broadcast_axes": [0]}
    request = {"op": op, "inputs": [{"dtype": "int32", "shape": [3], "data": [1, 2, 3]}]}
    [output] = json.load(ask("/v1/broadcast", request))["broadcast_inputs"]
    expect("ngraph.Broadcast of [1, 2, 3]", output["data"], [[1, 2, 3], [1, 2, 3]])
    op = {"name": "numpy.broadcast_to", "shape": [2, 3]}
    request = {"op": op, "inputs": [{"dtype": "bfloat16", "shape": [3], "data": [1, 2, 3]}]}
    [output] = json.load(ask("/v1/broadcast", request))["broadcast_inputs"]
    expect("bfloat16 broadcast to 2x3", output["data"], [[1, 2, 3], [1, 2, 3]])

    ops = json.load(ask("/v1/ops"))["ops"]
    failed = [op["name"] for op in ops if not json.load(ask("/v1/check", op["example"]))["compatible"]]
    expect(f"failed checks among the examples of {len(ops)} ops", failed, [])
    count = 0
    for path, methods in json.load(ask("/openapi.json"))["paths"].items():
        body = methods.get("post", {}).get("requestBody", {"content": {}})["content"].get("application/json", {})
        for example in body.get("examples", {}).values():
            count += ask(path, example["value"]).status == 200
    expect("the examples of the API have a response", count > 15, True)
    for path in "/", "/static/page.js", "/docs", "/openapi.json", "/metrics":
        expect(path, ask(path).status, 200)


def check_stream(mebibytes):
    """Check a response that is twice as large as the memory of the container, byte by byte."""
    size = int(mebibytes) * 2**20
    op = {"name": "numpy.broadcast_to", "shape": [size // 4]}
    request = {"op": op, "inputs": [{"dtype": "float32", "shape": [], "data": 1.5}]}
    start = time.monotonic()
    answer = ask("/v1/broadcast", request, "application/vnd.msgpack")
    head = int(answer.headers["Content-Length"]) - size
    if not 0 < head < 1000 or len(answer.read(head)) != head:
        sys.exit(f"FAILED: a head of {head} bytes")
    pattern = struct.pack("<f", 1.5) * 2**18
    while chunk := answer.read(len(pattern)):
        if chunk != pattern[: len(chunk)]:
            sys.exit(f"FAILED: wrong bytes, {size} from the end")
        size -= len(chunk)
    expect(f"a dense answer of {mebibytes} MiB in {time.monotonic() - start:.1f} s: bytes missing", size, 0)


def check_drain():
    """Check that the service is not ready after SIGTERM, but responds to all requests and then closes connections."""
    deadline = time.monotonic() + 1.5
    while True:
        try:
            ask("/readyz").close()
        except urllib.error.HTTPError as error:
            expect("/readyz", error.code, 503)
            break
        if time.monotonic() > deadline:
            sys.exit("FAILED: ready long after SIGTERM")
        time.sleep(0.01)
    answer = ask("/v1/check?input=3&input=1")
    expect("a check in the drain", json.load(answer)["compatible"], True)
    expect("its Connection", answer.headers["Connection"].lower(), "close")


action, url, *arguments = sys.argv[1:]
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
globals()[action](*arguments)
