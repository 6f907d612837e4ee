# syntax=docker/dockerfile:1
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# For those who have a container engine; `make image` needs none. From the
# repository's root:
#
#   docker build -f hack/image/dockerfiles/pause.Dockerfile -t hosted-bridge/pause:dev .
FROM --platform=$BUILDPLATFORM golang:1.27 AS build
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY hack/image/go.mod hack/image/go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY hack/image/pause pause
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags="-s -w" -o /pause ./pause
RUN mkdir -p /rootfs/etc/ssl/certs \
    && printf 'root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65535:65535:nonroot:/:/sbin/nologin\n' >/rootfs/etc/passwd \
    && printf 'root:x:0:\nnonroot:x:65535:\n' >/rootfs/etc/group \
    && cp -L /etc/ssl/certs/ca-certificates.crt /rootfs/etc/ssl/certs/ \
    && cp /pause /rootfs/pause

FROM scratch
COPY --from=build /rootfs/ /
LABEL org.opencontainers.image.title="hosted-bridge/pause" \
      org.opencontainers.image.description="Holds the namespaces of a pod in a local cluster" \
      org.opencontainers.image.source="https://github.com/hostedbridge/hostedbridge" \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /
USER 65535:65535
ENTRYPOINT ["/pause"]
