"""A siege of a service: many at once who send or read little and hold much, and honest callers among them.

    python deploy/siege.py http://127.0.0.1:8000 --seconds 10

Prints, as JSON, what was answered to whom. Exit status 1: a probe was not answered, or no check was once the siege had
ended. Memory is measured by a container's limit (deploy/image_test.sh) or a cgroup's (tests/load/load_siege.py).

It shares nothing with the service but HTTP, and needs the standard library only.
"""

import argparse
import asyncio
import json
import ssl
import sys
import time
from collections import Counter
from urllib.parse import urlsplit

MIB = 2**20
HOST = "127.0.0.1"
MSGPACK = "application/vnd.msgpack"
JSON = "application/json"


def request(path, body=b"", media=JSON, accept=JSON, length=None):
    fields = f"Host: {HOST}\r\nAccept: {accept}\r\n"
    if not body:
        return f"GET {path} HTTP/1.1\r\n{fields}\r\n".encode()
    length = len(body) if length is None else length
    return f"POST {path} HTTP/1.1\r\n{fields}Content-Type: {media}\r\nContent-Length: {length}\r\n\r\n".encode() + body


def ask(path, value, accept=JSON):
    return request(path, json.dumps(value).encode(), accept=accept)


def broadcast(shape, inputs, dtype="float32", **more):
    """Return a dense broadcast of an input of ones."""
    tensor = {"dtype": dtype, "shape": inputs, "data": [1] * inputs[0]}
    return {"op": {"name": "numpy.broadcast_to", "shape": shape}, "inputs": [tensor], **more}


def maps(number):
    return b"\xdd" + number.to_bytes(4, "big") + b"\x80" * number


ROW = {"inputs": [[8, 1, 6, 1], [7, 1, 5]], "dtype": "int8"}
CHECK = request("/v1/check?input=8x1x6x1&input=7x1x5")
KINDS = {
    # name: how many connections, what each sends, whether it reads the answers
    "readers of the documentation": (64, request("/docs/swagger-ui-bundle.js") * 4, False),
    "readers of a stream of distinct rows": (
        40,
        ask("/v1/broadcast", broadcast([4000, 4096], [4000, 1]), MSGPACK),
        False,
    ),
    "readers of what repeats": (40, ask("/v1/broadcast", broadcast([2**26, 3], [3]), MSGPACK), False),
    "readers of JSON": (16, ask("/v1/broadcast", broadcast([30_000, 4], [4])), False),
    "readers of base64": (8, ask("/v1/broadcast", broadcast([250, 4000], [4000], json_data="base64")), False),
    "readers of nothing, who ask on": (64, CHECK * 300, False),
    "pipeliners of short checks, who read nothing": (200, CHECK * 3500, False),
    "withholders of the last byte": (100, ask("/v1/check", {"inputs": [[3]]})[:-1], False),
    "halves of bodies": (24, request("/v1/broadcast", bytes(4 * MIB), MSGPACK, length=8 * MIB), False),
    "large bodies": (8, request("/v1/check", maps(4 * MIB), MSGPACK), True),
    "many values": (8, request("/v1/check", b"\xdd" + (900_000).to_bytes(4, "big") + b"\x90" * 900_000, MSGPACK), True),
    "batches of rows": (8, ask("/v1/check/batch", {"requests": [ROW] * 3000}), True),
    "batches of large rows": (8, ask("/v1/check/batch", {"requests": [{"inputs": [[1] * 8] * 2000}] * 8}), True),
    "many shapes": (8, ask("/v1/check", {"inputs": [[2**62] * 4] * 10_000, "dtype": "int8"}), True),
    "silence": (200, b"", False),
    "heads that stop": (100, CHECK[:-9], False),
    "TLS that stops": (100, bytes.fromhex("160301020001000001fc0303") + bytes(100), False),
}


class Siege:
    def __init__(self, url, seconds):
        address = urlsplit(url)
        self.port = address.port
        self.host = address.hostname
        self.seconds = seconds
        self.tls = None
        if address.scheme == "https":
            self.tls = ssl.create_default_context()
            self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE
        self.statuses = {name: Counter() for name in KINDS}
        self.honest = {"probes": Counter(), "checks": Counter()}
        self.longest = 0.0

    async def run(self):
        self.end = time.monotonic() + self.seconds
        attackers = [
            self.attack(name, sent, reads) for name, (number, sent, reads) in KINDS.items() for _ in range(number)
        ]
        await asyncio.gather(
            *attackers, self.stay_honest("probes", "/livez"), self.stay_honest("checks", "/v1/check?input=3")
        )

    async def attack(self, name, sent, reads):
        """Connect, send and wait until the end. Connect again if the service closes the connection."""
        plain = name == "TLS that stops" or self.tls is None
        while time.monotonic() < self.end:
            writer = None
            try:
                async with asyncio.timeout_at(asyncio.get_running_loop().time() + self.end - time.monotonic()):
                    reader, writer = await asyncio.open_connection(
                        self.host, self.port, limit=2**12, ssl=None if plain else self.tls
                    )
                    writer.write(sent)
                    await writer.drain()
                    line = await reader.readline()
                    self.statuses[name][line[9:12].decode("latin-1")] += 1
                    while reads and await reader.read(2**16):
                        pass
                    if line:
                        await asyncio.sleep(self.seconds)
            except TimeoutError:
                pass
            except (OSError, ValueError, asyncio.IncompleteReadError):
                self.statuses[name]["reset"] += 1
            finally:
                if writer is not None:
                    writer.transport.abort()
            await asyncio.sleep(0.05)

    async def stay_honest(self, name, path):
        while time.monotonic() < self.end:
            start = time.monotonic()
            self.honest[name][await self.status(path)] += 1
            if name == "probes":
                self.longest = max(self.longest, time.monotonic() - start)
            await asyncio.sleep(0.05)

    async def status(self, path):
        """Return the status of the response on a new connection."""
        try:
            async with asyncio.timeout(120):  # on a busy machine, the siege itself is slow
                reader, writer = await asyncio.open_connection(self.host, self.port, ssl=self.tls)
                writer.write(request(path))
                line = await reader.readline()
                writer.transport.abort()
                return line[9:12].decode("latin-1")
        except (OSError, TimeoutError) as error:
            return type(error).__name__


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    siege = Siege(options.url, options.seconds)

    async def run():
        await siege.run()
        after = Counter()
        for _ in range(100):
            after[await siege.status("/v1/check?input=3")] += 1
            if after["200"]:
                break
            await asyncio.sleep(0.1)
        return after

    after = asyncio.run(run())
    print(
        json.dumps(
            {"besiegers": siege.statuses, **siege.honest, "longest probe": siege.longest, "after": after}, indent=1
        )
    )
    if set(siege.honest["probes"]) != {"200"} or not after["200"]:
        sys.exit("FAILED: a probe, or what was asked after the siege, was not answered")


if __name__ == "__main__":
    main()
