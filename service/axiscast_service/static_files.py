"""The static files that the service sends: the web page, the documentation, and the files that these pages load."""

from __future__ import annotations

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types drawing"
)
_DOCS_POLICY = POLICY.partition("; require-trusted")[0]
"""The Content-Security-Policy of /docs. It allows Swagger UI to insert HTML, which trusted types would block."""
_SCRIPTS = ("page", "question", "answer", "drawing", "elements", "op_picker", "docs", "ops")
_PAGE = {f"{name}.js": "text/javascript" for name in _SCRIPTS}
_PAGE |= dict.fromkeys(["page.css", "picture.css", "docs.css"], "text/css")
_DOCS = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}
PARTS: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "/": (__package__, "index.html", "text/html", {"Content-Security-Policy": POLICY}),
    "/docs": (__package__, "docs.html", "text/html", {"Content-Security-Policy": _DOCS_POLICY}),
    **{f"/static/{name}": (__package__, name, media_type, {}) for name, media_type in _PAGE.items()},
    **{f"/docs/{name}": ("fastapi_offline", name, media_type, {}) for name, media_type in _DOCS.items()},
}
"""The static file for each path, with its package, file name, media type and additional response headers."""
