# The machine's side of a launch: the wheel and what it depends on, as constraints.txt pins it. Data, tokenizer and
# checkpoints come by hash when a job begins, so that nothing here is of a corpus, and no secret is needed to build it.
#
#   docker build -t REGISTRY/megacpp . && docker push REGISTRY/megacpp    # prints the digest
#
# Launchers take it by that digest: launch.settings.image = "REGISTRY/megacpp@sha256:…"
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS wheel
RUN apt-get update && apt-get install --yes --no-install-recommends g++ make git && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml constraints.txt CMakeLists.txt README.md LICENSE ./
COPY native native
COPY dbt_quality dbt_quality
COPY megacpp_assets megacpp_assets
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM ${BASE}
# For TPUs: docker build --build-arg EXTRAS='[train,gcs,tpu]'
ARG EXTRAS='[train,gcs]'
# For deploy/compose.yaml: all that the line runs, and a folder for the volume of its data root.
ARG PACKAGES=''
RUN if [ -n "$PACKAGES" ]; then apt-get update && apt-get install --yes --no-install-recommends $PACKAGES \
    && rm -rf /var/lib/apt/lists/* && install -d -o 10001 -g 10001 /data; fi
# PyPI's torch brings CUDA and NCCL with it: the driver is the host's.
RUN --mount=from=wheel,source=/wheels,target=/wheels --mount=from=wheel,source=/source,target=/source \
    pip install --no-cache-dir --no-compile --constraint /source/constraints.txt "$(echo /wheels/*.whl)${EXTRAS}"
# Processes of a machine meet on loopback and in a file (training/processes/ranks.py), one a GPU; what NCCL complains of is in the
# log. Nothing listens, so no port is exposed.
ENV NCCL_DEBUG=WARN \
    NCCL_RAS_ENABLE=0 \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /tmp
CMD ["python", "-m", "megacpp_assets.launch.job.run_attempt", "--help"]
