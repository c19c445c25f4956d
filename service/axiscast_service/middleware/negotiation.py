"""Content negotiation: the encoding of a request body, and the media type of its response."""

from __future__ import annotations

import re
from functools import lru_cache

from axiscast.wire.codec import ENCODINGS, Encoding
from axiscast.wire.problems import Problem

SUPPORTED = ", ".join(ENCODINGS)
TEXT = "text/plain"
SVG = "image/svg+xml"
_PLACES = {TEXT: "Only GET /v1/check and /v1/why return text", SVG: "Only /v1/check returns pictures"}
_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")
_PROBLEM_JSON = "application/problem+json"


@lru_cache(16)
def encoding_of_type(content_type: str, coding: str = "") -> Encoding:
    """Return the encoding for these Content-Type and Content-Encoding headers. Raises Problem if it is unsupported."""
    coding = coding.strip().lower()
    if coding.strip(", ") not in ("", "identity"):
        raise Problem(
            "unsupported-media-type",
            f"Content-Encoding {coding[:40]} is not supported: send the body without a content encoding (identity)",
        )
    name = content_type.split(";")[0].strip().lower()
    if name not in ENCODINGS:
        what = f"Content-Type {name[:60]} is not supported" if name else "Content-Type is missing"
        default = " (curl's default)" if name == "application/x-www-form-urlencoded" else ""
        advice = f"to send JSON, add the header Content-Type: application/json; the supported types are {SUPPORTED}"
        raise Problem("unsupported-media-type", f"{what}{default}: {advice}", supported=list(ENCODINGS))
    return ENCODINGS[name]


@lru_cache(16)
def best_offer(accept: str, otherwise: Encoding, others: tuple[str, ...] = ()) -> str:
    """Return the media type of the response that the Accept header prefers, or `otherwise` if any type is acceptable.

    `others` are the media types that the resource offers in addition to the types in ENCODINGS.

    Raises Problem (not-acceptable) if the Accept header allows no supported media type.
    """
    ranges = _ranges(accept)
    if not ranges:
        return otherwise.value
    offers = [otherwise.value, *ENCODINGS, *others]
    # If several offers have the highest q-value, max returns the first: the encoding of the request, then JSON.
    quality, offer = max(((_quality(offer, ranges), offer) for offer in offers), key=lambda pair: pair[0])
    if quality <= 0:
        supported = list(dict.fromkeys(offers))
        places = "".join(f". {place}" for media, place in _PLACES.items() if media in ranges and media not in offers)
        raise Problem(
            "not-acceptable",
            f"Accept ({accept[:60]}) allows no supported media type: write one of {', '.join(supported)}, or "
            f"*/*{places}",
            supported=supported,
        )
    return offer


def _ranges(accept: str) -> dict[str, float]:
    """Return the quality of each media range in an Accept header. Invalid ranges are ignored."""
    ranges: dict[str, float] = {}
    for part in accept.split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if "/" not in name:
            continue
        quality = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip() == "q":
                quality = float(value) if _QUALITY.fullmatch(value.strip()) else 0.0
        ranges["application/json" if name == _PROBLEM_JSON else name] = quality
    return ranges


def _quality(offer: str, ranges: dict[str, float]) -> float:
    """Return the quality of an offered media type, as given by the most specific range that matches the type."""
    kind = offer.split("/")[0]
    for covering in (offer, f"{kind}/*", "*/*"):
        if covering in ranges:
            return ranges[covering]
    return 0.0
