# syntax=docker/dockerfile:1
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# For those who have a container engine; `make image` needs none. From the
# repository's root:
#
#   docker build -f hack/image/dockerfiles/everything-server.Dockerfile -t hosted-bridge/everything-server:dev .
FROM --platform=$BUILDPLATFORM golang:1.27 AS build
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags="-s -w" -o /everything-server github.com/modelcontextprotocol/go-sdk/conformance/everything-server
RUN mkdir -p /rootfs/etc/ssl/certs \
    && printf 'root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n' >/rootfs/etc/passwd \
    && printf 'root:x:0:\nnonroot:x:65532:\n' >/rootfs/etc/group \
    && cp -L /etc/ssl/certs/ca-certificates.crt /rootfs/etc/ssl/certs/ \
    && cp /everything-server /rootfs/everything-server

FROM scratch
COPY --from=build /rootfs/ /
LABEL org.opencontainers.image.title="hosted-bridge/everything-server" \
      org.opencontainers.image.description="The MCP Go SDK's conformance server, an upstream for samples and tests" \
      org.opencontainers.image.source="https://github.com/hostedbridge/hostedbridge" \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /
USER 65532:65532
ENTRYPOINT ["/everything-server"]
