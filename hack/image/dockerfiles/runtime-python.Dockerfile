# syntax=docker/dockerfile:1
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# For those who have a container engine; `make image` needs none. From the
# repository's root:
#
#   docker build -f hack/image/dockerfiles/runtime-python.Dockerfile -t hosted-bridge/runtime-python:dev .
FROM --platform=$BUILDPLATFORM golang:1.27 AS programs
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY api api
COPY cmd cmd
COPY controllers controllers
COPY internal internal
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags="-s -w" -o /shim ./cmd/shim

FROM debian:12-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates media-types python3.11 tzdata \
    && rm -rf /var/lib/apt/lists/*
RUN ln -s python3.11 /usr/bin/python3 && ln -s python3 /usr/bin/python
COPY --from=programs /shim /usr/libexec/hosted-bridge/shim
RUN echo 'nonroot:x:65532:' >>/etc/group && echo 'nonroot:x:65532:65532:nonroot:/:/sbin/nologin' >>/etc/passwd
LABEL org.opencontainers.image.title="hosted-bridge/runtime-python" \
      org.opencontainers.image.description="Debian's Python, for MCP servers in Python" \
      org.opencontainers.image.source="https://github.com/hostedbridge/hostedbridge" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/usr/local/bin:/usr/bin
WORKDIR /
USER 65532:65532
ENTRYPOINT ["python3"]
