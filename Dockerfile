# The image of the service: `make image`, or `docker build -t axiscast .` without labels and a fixed date.
#
# BASE is any Debian with Python 3.11 or later and its venv module. `make pin-base` writes its digest here.
#
# For a private package index or certificate authority, pass pip's configuration to the build:
# --secret id=pip.conf,src=... (mounted as /etc/pip.conf) and --secret id=ca.pem,src=... (a bundle that the
# configuration names as `cert = /run/secrets/ca.pem`). Neither is stored in a layer.
ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_COMPILE=1 PYTHONHASHSEED=0
# Two environments: /build has pip, the build backend and the SBOM generator. /opt/axiscast is copied into the image.
RUN python3 -m venv /build && python3 -m venv --without-pip /opt/axiscast

# The dependencies change seldom, so they have a layer before the source. Only wheels with a locked hash are installed.
WORKDIR /src
COPY deploy/requirements.txt deploy/requirements-build.txt deploy/requirements-sbom.txt deploy/
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf --mount=type=secret,id=ca.pem \
    /build/bin/pip install --only-binary=:all: --require-hashes \
      -r deploy/requirements-build.txt -r deploy/requirements-sbom.txt \
 && /build/bin/pip --python /opt/axiscast/bin/python install --only-binary=:all: --require-hashes -r deploy/requirements.txt

COPY pyproject.toml hatch_build.py README.md LICENSE NOTICE ./
COPY client client
COPY service service
RUN /build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
 && /build/bin/pip --python /opt/axiscast/bin/python install --no-index --no-deps dist/*.whl
COPY deploy/healthcheck.py /opt/axiscast/
COPY deploy/trim.py deploy/sbom.py deploy/

# The time in the SBOM.
ARG SOURCE_DATE_EPOCH
RUN /build/bin/python deploy/trim.py /opt/axiscast \
 && /build/bin/python deploy/sbom.py /opt/axiscast /opt/axiscast/sbom.cdx.json \
 && chmod -R a+rX,go-w /opt/axiscast


FROM ${BASE}
LABEL org.opencontainers.image.title="axiscast" \
      org.opencontainers.image.description="Tensor broadcasting as a service" \
      org.opencontainers.image.licenses="Apache-2.0"

COPY --from=build /opt/axiscast /opt/axiscast
ENV PATH=/opt/axiscast/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    AXISCAST_ACCESS_LOG=true \
    AXISCAST_HOST=0.0.0.0 \
    AXISCAST_LOG_FORMAT=json \
    AXISCAST_PORT=8000
# The official image has no bytecode for the standard library, so each start would compile it again. This command writes
# the bytecode of the modules in use, and shows that the service can be imported. A fixed hash seed gives equal bytes.
RUN PYTHONHASHSEED=0 python -c "import http.client, axiscast.cli, axiscast_service.app, axiscast_service.serve, uvloop"
ENV PYTHONDONTWRITEBYTECODE=1

# A numeric id, with which Kubernetes can verify that the user is not root.
USER 10001:10001
WORKDIR /
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s --retries=3 \
    CMD ["python", "-IS", "/opt/axiscast/healthcheck.py"]
ENTRYPOINT ["axiscast"]
CMD ["serve"]
