# syntax=docker/dockerfile:1
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# For those who have a container engine; `make image` needs none. From the
# repository's root:
#
#   docker build -f hack/image/dockerfiles/postgres.Dockerfile -t hosted-bridge/postgres:dev .
FROM debian:12-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates postgresql-15 \
    && rm -rf /var/lib/apt/lists/* \
    && ln -sf /usr/lib/postgresql/15/bin/initdb /usr/lib/postgresql/15/bin/postgres /usr/bin/
RUN echo 'nonroot:x:65532:' >>/etc/group && echo 'nonroot:x:65532:65532:nonroot:/:/sbin/nologin' >>/etc/passwd
LABEL org.opencontainers.image.title="hosted-bridge/postgres" \
      org.opencontainers.image.description="Debian's PostgreSQL, which keeps the logins of tests" \
      org.opencontainers.image.source="https://github.com/hostedbridge/hostedbridge" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/usr/local/bin:/usr/bin
WORKDIR /
USER 65532:65532
ENTRYPOINT ["postgres"]
