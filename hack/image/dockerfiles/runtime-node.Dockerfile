# syntax=docker/dockerfile:1
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# For those who have a container engine; `make image` needs none. From the
# repository's root:
#
#   docker build -f hack/image/dockerfiles/runtime-node.Dockerfile -t hosted-bridge/runtime-node:dev .
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

FROM debian:12-slim AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates npm
COPY hack/image/npm/node /node
RUN cd /node && npm ci --ignore-scripts \
    && mkdir -p /rootfs/usr/local/bin /rootfs/usr/local/lib/node_modules \
    && cp node_modules/node-linux-*/bin/node /rootfs/usr/local/bin/node \
    && mv node_modules/npm /rootfs/usr/local/lib/node_modules/npm \
    && ln -s ../lib/node_modules/npm/bin/npm-cli.js /rootfs/usr/local/bin/npm \
    && ln -s ../lib/node_modules/npm/bin/npx-cli.js /rootfs/usr/local/bin/npx

FROM debian:12-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates libstdc++6 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /rootfs/ /
COPY --from=programs /shim /usr/libexec/hosted-bridge/shim
RUN echo 'nonroot:x:65532:' >>/etc/group && echo 'nonroot:x:65532:65532:nonroot:/:/sbin/nologin' >>/etc/passwd
LABEL org.opencontainers.image.title="hosted-bridge/runtime-node" \
      org.opencontainers.image.description="Node.js with npx, for MCP servers of npm" \
      org.opencontainers.image.source="https://github.com/hostedbridge/hostedbridge" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/usr/local/bin:/usr/bin
WORKDIR /
USER 65532:65532
ENTRYPOINT ["node"]
