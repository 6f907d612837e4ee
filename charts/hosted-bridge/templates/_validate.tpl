{{/*
What the schema cannot say in words: values that exclude each other, and Secrets
that are named and not there. Of those the cluster is asked, where there is one.
*/}}

{{- define "hosted-bridge.validate" -}}
{{- with .Values }}
{{- if and (eq .masterKey.provider "transit") (not .masterKey.vault.address) }}
{{- fail "masterKey.provider is transit: set masterKey.vault.address" }}
{{- end }}
{{- if and .masterKey.vault.address (not .masterKey.vault.role) (not .masterKey.vault.tokenSecret) }}
{{- fail "masterKey.vault.address is set: set masterKey.vault.role or masterKey.vault.tokenSecret, with which the keybroker authenticates" }}
{{- end }}
{{- if and .masterKey.vault.role .masterKey.vault.tokenSecret }}
{{- fail "masterKey.vault.role and masterKey.vault.tokenSecret are both set: leave one of them out, because the keybroker authenticates with only one" }}
{{- end }}
{{- if and (hasPrefix "http://" .masterKey.vault.address) (not .masterKey.vault.insecure) }}
{{- fail "masterKey.vault.address is not https, so data keys would pass unencrypted: use https://, or set masterKey.vault.insecure to allow this" }}
{{- end }}
{{- if and (eq .audit.index.type "postgres") (not .audit.index.postgres.existingSecret) }}
{{- fail "audit.index.type is postgres: set audit.index.postgres.existingSecret to a Secret with the database's URL" }}
{{- end }}
{{- if and (ne .audit.index.type "postgres") .audit.index.postgres.existingSecret }}
{{- fail (printf "audit.index.postgres.existingSecret is set, but audit.index.type is %s: set it to postgres, or leave the Secret out" .audit.index.type) }}
{{- end }}
{{- /* Not by the schema, whose messages repeat what is wrong. */}}
{{- if not (regexMatch "^(rediss?://([^\\s:@/]+@)?[^\\s@/?#]+(/[0-9]*)?)?$" .quota.redis.url) }}
{{- fail "quota.redis.url must have the form redis://host:port/database, or rediss:// for TLS, without a password: put the password into quota.redis.existingSecret" }}
{{- end }}
{{- if and (not .quota.redis.url) (or .quota.redis.existingSecret .quota.redis.caConfigMap) }}
{{- fail "quota.redis.existingSecret and quota.redis.caConfigMap need quota.redis.url" }}
{{- end }}
{{- if hasPrefix "git:" .catalog.seed.source }}
{{- fail "catalog.seed.source is git:URL, which is not supported: write archive:URL with the .tar.gz archive of the branch, tag or commit, such as archive:https://github.com/OWNER/REPOSITORY/archive/REF.tar.gz#PATH" }}
{{- end }}
{{- if and .catalog.seed.tokenSecret (not (hasPrefix "archive:" .catalog.seed.source)) }}
{{- fail "catalog.seed.tokenSecret is set, but catalog.seed.source is not an archive: use archive:URL, or leave the Secret out" }}
{{- end }}
{{- if and .ingress.service.nodePort (eq .ingress.service.type "ClusterIP") }}
{{- fail "ingress.service.nodePort needs ingress.service.type NodePort or LoadBalancer" }}
{{- end }}
{{- with .isolation.networkPolicy }}
{{- if and .require (not (and .enabled .probe)) }}
{{- fail "isolation.networkPolicy.require needs isolation.networkPolicy.enabled and isolation.networkPolicy.probe: only policies that were tested show whether tenants are isolated" }}
{{- end }}
{{- end }}
{{- end }}
{{- include "hosted-bridge.validate.store" . }}
{{- include "hosted-bridge.validate.backup" . }}
{{- include "hosted-bridge.validate.bundles" . }}
{{- include "hosted-bridge.validate.oauth" . }}
{{- include "hosted-bridge.validate.scim" . }}
{{- include "hosted-bridge.validate.monitoring" . }}
{{- include "hosted-bridge.validate.drain" . }}
{{- include "hosted-bridge.validate.secrets" . }}
{{- include "hosted-bridge.validate.crds" . }}
{{- end }}

{{- define "hosted-bridge.validate.secrets" -}}
{{- $secrets := lookup "v1" "Secret" .Release.Namespace "" }}
{{- if $secrets }}
{{- $present := dict }}
{{- range $secrets.items }}{{ $_ := set $present .metadata.name true }}{{ end }}
{{- $named := dict
  "masterKey.existingSecret" .Values.masterKey.existingSecret
  "masterKey.vault.tokenSecret" .Values.masterKey.vault.tokenSecret
  "backup.s3.existingSecret" .Values.backup.s3.existingSecret
  "admin.existingSecret" .Values.admin.existingSecret
  "audit.key.existingSecret" .Values.audit.key.existingSecret
  "audit.index.postgres.existingSecret" .Values.audit.index.postgres.existingSecret
  "catalog.signingKey.existingSecret" .Values.catalog.signingKey.existingSecret
  "ingress.snapshotKey.existingSecret" .Values.ingress.snapshotKey.existingSecret
  "quota.redis.existingSecret" .Values.quota.redis.existingSecret
  "tls.existingSecret" (ternary .Values.tls.existingSecret "" (eq .Values.tls.mode "secret"))
  "catalog.seed.tokenSecret" .Values.catalog.seed.tokenSecret }}
{{- range $key, $name := merge $named (include "hosted-bridge.oauth.secrets" . | fromJson) }}
{{- if and $name (not (hasKey $present $name)) }}
{{- fail (printf "%s names the Secret %s, which is not in the namespace %s: create it first" $key $name $.Release.Namespace) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Refuses to make a master key where there was one: it would be called version 1
like the other, and open nothing. That there was one shows in what keybrokers
leave: the certificate that they publish, which an uninstall removes, and the
versions in the statuses of HostedBridges, which it does not. An installation
that failed before a keybroker ran has neither.
*/}}
{{- define "hosted-bridge.validate.master-key" -}}
{{- $remedy := printf "Set masterKey.existingSecret if the ring has another name, or restore the Secret from a backup. Running keybrokers still have the ring: keep them running until then. To start with a new ring and lose all sealed secrets, create the Secret hosted-bridge-master-key in the namespace %s yourself" .Release.Namespace }}
{{- $trust := lookup "v1" "ConfigMap" .Release.Namespace "hosted-bridge-ca" }}
{{- if ((($trust).data) | default dict) }}
{{- fail (printf "the namespace %s has no Secret hosted-bridge-master-key, but a keybroker has run there: another master key cannot open the secrets that users have stored. %s" .Release.Namespace $remedy) }}
{{- end }}
{{- if .Capabilities.APIVersions.Has "hostedbridge.dev/v1alpha1/HostedBridge" }}
{{- range (.Values.watchNamespaces | default (list "")) }}
{{- range ((lookup "hostedbridge.dev/v1alpha1" "HostedBridge" . "").items) }}
{{- if ((.status).keyVersion) }}
{{- fail (printf "the namespace %s has no Secret hosted-bridge-master-key, but the HostedBridge %s/%s has sealed secrets: another master key cannot open them. %s" $.Release.Namespace .metadata.namespace .metadata.name $remedy) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Refuses to give up CRDs that the release has without the annotation to keep them:
Helm deletes what is in a release no more, and with a CRD all of its kind. Who
installs into some namespaces may not be allowed to read CRDs, and is asked only
where the values say that they need not stay.
*/}}
{{- define "hosted-bridge.validate.crds" -}}
{{- if and (not .Values.crds.install) (or (not .Values.crds.keep) (and .Values.rbac.create (not .Values.watchNamespaces))) }}
{{- range $path, $_ := .Files.Glob "files/crds/*.yaml" }}
{{- $name := ($.Files.Get $path | fromYaml).metadata.name }}
{{- $annotations := ((lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $name).metadata).annotations | default dict }}
{{- $ours := and (eq (get $annotations "meta.helm.sh/release-name") $.Release.Name) (eq (get $annotations "meta.helm.sh/release-namespace") $.Release.Namespace) }}
{{- if and $ours (ne (get $annotations "helm.sh/resource-policy") "keep") }}
{{- fail (printf "crds.install is false, but the CRD %s belongs to this release and is not marked to be kept: the upgrade would delete it with every object of its kind. Upgrade with crds.install and crds.keep set to true first" $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "hosted-bridge.validate.monitoring" -}}
{{- with .Values.monitoring }}
{{- $policies := $.Values.isolation.networkPolicy }}
{{- if and (or .serviceMonitor.enabled .podMonitor.enabled) .requireNamespaces $policies.enabled (not $policies.monitoringNamespaces) }}
{{- fail "monitoring has a monitor, but isolation.networkPolicy blocks all readers of metrics: name the namespace of Prometheus in isolation.networkPolicy.monitoringNamespaces, or set monitoring.requireNamespaces to false if Prometheus has another way in, such as the nodes' network" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "hosted-bridge.validate.drain" -}}
{{- range .Values.ingress.extraArgs }}
{{- if hasPrefix "--drain-timeout" . }}
{{- fail "ingress.extraArgs has --drain-timeout: set ingress.drainTimeout in its place, which also sets the pods' grace period" }}
{{- end }}
{{- end }}
{{- end }}
