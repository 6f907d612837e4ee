#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# login.sh FOLDER  writes what an installation needs for the end-to-end tests of
# logins. The identity provider and the GitHub they run themselves, in one pod,
# with what else is there:
#
#   values.yaml      of the chart
#   objects.yaml     what the values name: secrets, who vouches for the providers,
#                    the PostgreSQL in which logins are kept, and the namespace of
#                    the bridges that first logins make
#   client-secret    the installation's at the identity provider
#   github-secret    and at GitHub
#   postgres-password
#   scim-token       that of the identity provider's directory
#   tls.crt tls.key  the certificate of both
#
# It may be called again: what is still good stays, since the installation knows it.
#
#   HB_POSTGRES_IMAGE  PostgreSQL's image, where it is not in the cluster under its
#                      own name
set -euo pipefail

root=$PWD
folder=$1
namespace=hosted-bridge-e2e
people=hosted-bridge-e2e-people
host=identity.$namespace.svc
umask 077
mkdir -p "$folder"
cd "$folder"

certificate() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 7 "$@" 2>/dev/null; }
if ! openssl x509 -in tls.crt -noout -checkend 86400 >/dev/null 2>&1; then
    certificate -keyout ca.key -out ca.crt -subj "/CN=end-to-end tests of hosted-bridge"
    certificate -keyout tls.key -out tls.crt -subj "/CN=$host" -CA ca.crt -CAkey ca.key \
        -addext "subjectAltName=DNS:$host" -addext basicConstraints=critical,CA:FALSE
    rm ca.key
fi
for secret in client-secret github-secret postgres-password; do
    [[ -s $secret ]] || openssl rand -hex 32 >"$secret"
done

# Compiled as for the images, so that both share what is compiled.
[[ -s scim-token ]] || (cd "$root" && CGO_ENABLED=0 GOFLAGS=-trimpath GOTOOLCHAIN=${GOTOOLCHAIN:-auto} go run -buildvcs=false ./cmd/ingress scim token) | head -1 >scim-token

cat >objects.yaml <<EOF
apiVersion: v1
kind: Secret
metadata: {namespace: hosted-bridge-system, name: hosted-bridge-e2e}
stringData:
  clientSecret: $(cat client-secret)
  gitHubSecret: $(cat github-secret)
  url: postgres://logins:$(cat postgres-password)@postgres.$namespace.svc:5432/postgres
---
apiVersion: v1
kind: ConfigMap
metadata: {namespace: hosted-bridge-system, name: hosted-bridge-e2e}
data:
  ca.crt: |
$(sed 's/^/    /' ca.crt)
---
apiVersion: v1
kind: Namespace
metadata: {name: $namespace}
---
apiVersion: v1
kind: Namespace
metadata: {name: $people}
---
apiVersion: v1
kind: Secret
metadata: {namespace: $namespace, name: postgres}
stringData: {password: "$(cat postgres-password)"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: $namespace, name: postgres}
spec:
  selector: {matchLabels: {app: postgres}}
  template:
    metadata: {labels: {app: postgres}}
    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 1
      containers:
      - name: postgres
        image: ${HB_POSTGRES_IMAGE:-hosted-bridge/postgres:dev}
        command: [sh, -euc]
        args:
        - |
          if [ ! -e /data/logins ]; then
            initdb --pgdata=/data/logins --username=logins --pwfile=/secret/password --auth=scram-sha-256 --no-locale --encoding=UTF8
            echo 'host all all all scram-sha-256' >>/data/logins/pg_hba.conf
          fi
          exec postgres -D /data/logins -c listen_addresses='*' -c unix_socket_directories= -c jit=off
        readinessProbe: {tcpSocket: {port: 5432}, periodSeconds: 1}
        volumeMounts: [{name: data, mountPath: /data}, {name: secret, mountPath: /secret, readOnly: true}]
      volumes:
      - {name: data, emptyDir: {}}
      - {name: secret, secret: {secretName: postgres}}
---
apiVersion: v1
kind: Service
metadata: {namespace: $namespace, name: postgres}
spec: {selector: {app: postgres}, ports: [{port: 5432}]}
EOF

cat >values.yaml <<EOF
# People leave while the tests wait.
keybroker: {offboardingRetention: 15s}
oauth:
  caConfigMap: hosted-bridge-e2e
  server:
    enabled: true
    name: Bridges of the tests
    store: {type: postgres, postgres: {existingSecret: hosted-bridge-e2e}}
    providers:
    - id: identity
      name: Identity provider
      type: oidc
      issuer: https://$host:8443
      clientID: hosted-bridge
      existingSecret: hosted-bridge-e2e
      scopes: [openid, profile, email]
      user: {claim: email, suffix: "@example.com"}
      groups: {claim: groups, recheck: refresh}
    - id: github
      name: GitHub
      type: github
      url: https://$host:8443/github
      apiURL: https://$host:8443/github/api
      clientID: hosted-bridge-github
      existingSecret: hosted-bridge-e2e
      key: gitHubSecret
    roles:
    - {role: auditor, groups: [{issuer: "https://$host:8443", value: hosted-bridge-e2e-auditors}]}
    clients:
    - {id: desk, name: Desk, redirectURIs: ["http://127.0.0.1/callback"]}
    # The documents of the tests' clients lie at the provider, which is a pod.
    clientIDMetadataDocuments: {allowedNetworks: [10.244.0.0/16, 10.96.0.0/16]}
    # The tests put the recipe into the catalog.
    onboarding:
      mode: auto
      namespace: $people
      tier: free
      servers: [{name: everything, recipe: {name: e2e-everything}}]
scim:
  directories:
  - name: identity
    issuer: https://$host:8443
    tokenHashes: ["sha256:$(tr -d '\n' <scim-token | sha256sum | cut -d' ' -f1)"]
EOF
