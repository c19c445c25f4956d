"""A replacement for curl with the options -s, -H and -d, for machines without curl."""

import argparse
import sys
import urllib.request

parser = argparse.ArgumentParser()
parser.add_argument("-s", action="store_true")
parser.add_argument("-H", action="append", default=[])
parser.add_argument("-d")
parser.add_argument("url")
arguments = parser.parse_args()
headers = dict(header.split(": ", 1) for header in arguments.H)
data = arguments.d.encode() if arguments.d is not None else None
with urllib.request.urlopen(urllib.request.Request(arguments.url, data, headers)) as answer:
    sys.stdout.buffer.write(answer.read())
