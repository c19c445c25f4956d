# The image of the service: `docker build -t axiscast .`, `docker run --rm -p 8000:8000 axiscast`.
#
# BASE is any Debian with Python 3.11 or later and its venv module. Pin it by digest where a build must be repeatable:
# --build-arg BASE=python:3.12-slim-bookworm@sha256:...
#
# Behind a private package index or certificate authority, hand pip its configuration for the length of the build:
# --secret id=pip.conf,src=... (mounted as /etc/pip.conf) and --secret id=ca.pem,src=... (a bundle that the
# configuration names as `cert = /run/secrets/ca.pem`). Neither enters a layer.
ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_COMPILE=1
# Two environments: pip and the build backend stay in /build; /opt/axiscast is what ships, and never has pip.
RUN python3 -m venv /build && python3 -m venv --without-pip /opt/axiscast

# The dependencies change seldom: their layer stands before the source's. Wheels alone, each of a known hash.
WORKDIR /src
COPY deploy/requirements.txt deploy/requirements-build.txt deploy/
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf --mount=type=secret,id=ca.pem \
    /build/bin/pip install --only-binary=:all: --require-hashes -r deploy/requirements-build.txt \
 && /build/bin/pip --python /opt/axiscast/bin/python install --only-binary=:all: --require-hashes -r deploy/requirements.txt

COPY pyproject.toml hatch_build.py README.md LICENSE NOTICE ./
COPY client client
COPY service service
RUN /build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
 && /build/bin/pip --python /opt/axiscast/bin/python install --no-index --no-deps dist/*.whl
COPY deploy/healthcheck.py /opt/axiscast/

# What a running service never reads goes. Bytecode is written here once, to be trusted as it is: nothing can write
# it later, and neither it nor the sources ever change.
RUN site=$(/opt/axiscast/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))') \
 && find "$site" -depth \( -type d \( -name tests -o -name __pycache__ \) \
      -o -type f \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.a' -o -name '*.h' \) \) -exec rm -rf {} + \
 && rm -f /opt/axiscast/bin/[Aa]ctivate* \
 && /opt/axiscast/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash "$site" \
 && chmod -R a+rX,go-w /opt/axiscast


FROM ${BASE}
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="axiscast" \
      org.opencontainers.image.description="Tensor broadcasting as a service" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

COPY --from=build /opt/axiscast /opt/axiscast
ENV PATH=/opt/axiscast/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    AXISCAST_ACCESS_LOG=true \
    AXISCAST_HOST=0.0.0.0 \
    AXISCAST_LOG_FORMAT=json \
    AXISCAST_PORT=8000
# The official image has no bytecode for the standard library, so each start would compile it anew: this writes it
# for the modules in use (and shows that the service can be imported at all). From here on nothing is written.
RUN ["python", "-c", "import http.client, axiscast.cli, axiscast_service.app, axiscast_service.serve, uvloop"]
ENV PYTHONDONTWRITEBYTECODE=1

# A number, so that an orchestrator can see that it is not root.
USER 10001:10001
WORKDIR /
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s --retries=3 \
    CMD ["python", "-IS", "/opt/axiscast/healthcheck.py"]
ENTRYPOINT ["axiscast"]
CMD ["serve"]
