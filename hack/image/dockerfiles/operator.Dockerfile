# syntax=docker/dockerfile:1
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# For those who have a container engine; `make image` needs none. From the
# repository's root:
#
#   docker build -f hack/image/dockerfiles/operator.Dockerfile -t hosted-bridge/operator:dev .
FROM --platform=$BUILDPLATFORM golang:1.27 AS build
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY api api
COPY cmd cmd
COPY controllers controllers
COPY docs docs
COPY internal internal
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags="-s -w" -o /operator ./cmd/operator
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags="-s -w" -o /kubectl-bridge ./cmd/kubectl-bridge
RUN mkdir -p /rootfs/etc/ssl/certs \
    && printf 'root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n' >/rootfs/etc/passwd \
    && printf 'root:x:0:\nnonroot:x:65532:\n' >/rootfs/etc/group \
    && cp -L /etc/ssl/certs/ca-certificates.crt /rootfs/etc/ssl/certs/ \
    && cp /operator /rootfs/operator \
    && cp /kubectl-bridge /rootfs/kubectl-bridge

FROM scratch
COPY --from=build /rootfs/ /
LABEL org.opencontainers.image.title="hosted-bridge/operator" \
      org.opencontainers.image.description="Makes a bridge of each HostedBridge object" \
      org.opencontainers.image.source="https://github.com/hostedbridge/hostedbridge" \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /
USER 65532:65532
ENTRYPOINT ["/operator"]
