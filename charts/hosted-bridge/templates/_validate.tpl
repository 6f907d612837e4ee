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
{{- fail "masterKey.vault.address is set: set masterKey.vault.role or masterKey.vault.tokenSecret, by which the keybroker is let in" }}
{{- end }}
{{- if and .masterKey.vault.role .masterKey.vault.tokenSecret }}
{{- fail "masterKey.vault.role and masterKey.vault.tokenSecret are both set: the keybroker is let in by one of them" }}
{{- end }}
{{- if and (hasPrefix "http://" .masterKey.vault.address) (not .masterKey.vault.insecure) }}
{{- fail "masterKey.vault.address is not https: data keys would pass in the clear; set masterKey.vault.insecure if they may" }}
{{- end }}
{{- if and (eq .audit.index.type "postgres") (not .audit.index.postgres.existingSecret) }}
{{- fail "audit.index.type is postgres: set audit.index.postgres.existingSecret to a Secret with the database's URL" }}
{{- end }}
{{- if and (ne .audit.index.type "postgres") .audit.index.postgres.existingSecret }}
{{- fail (printf "audit.index.postgres.existingSecret is set, but audit.index.type is %s: set it to postgres, or leave the Secret out" .audit.index.type) }}
{{- end }}
{{- /* Not by the schema, whose messages repeat what is wrong. */}}
{{- if not (regexMatch "^(rediss?://([^\\s:@/]+@)?[^\\s@/?#]+(/[0-9]*)?)?$" .quota.redis.url) }}
{{- fail "quota.redis.url must be of the form redis://host:port/database, or rediss:// for TLS, without a password: that is in quota.redis.existingSecret" }}
{{- end }}
{{- if and (not .quota.redis.url) (or .quota.redis.existingSecret .quota.redis.caConfigMap) }}
{{- fail "quota.redis.existingSecret and quota.redis.caConfigMap need quota.redis.url" }}
{{- end }}
{{- if and .catalog.seed.tokenSecret (not (hasPrefix "git:" .catalog.seed.source)) }}
{{- fail "catalog.seed.tokenSecret is for a catalog.seed.source that is a git repository" }}
{{- end }}
{{- if and .ingress.service.nodePort (eq .ingress.service.type "ClusterIP") }}
{{- fail "ingress.service.nodePort needs ingress.service.type NodePort or LoadBalancer" }}
{{- end }}
{{- end }}
{{- include "hosted-bridge.validate.secrets" . }}
{{- end }}

{{- define "hosted-bridge.validate.secrets" -}}
{{- $secrets := lookup "v1" "Secret" .Release.Namespace "" }}
{{- if $secrets }}
{{- $present := dict }}
{{- range $secrets.items }}{{ $_ := set $present .metadata.name true }}{{ end }}
{{- $named := dict
  "masterKey.existingSecret" .Values.masterKey.existingSecret
  "masterKey.vault.tokenSecret" .Values.masterKey.vault.tokenSecret
  "admin.existingSecret" .Values.admin.existingSecret
  "audit.key.existingSecret" .Values.audit.key.existingSecret
  "audit.index.postgres.existingSecret" .Values.audit.index.postgres.existingSecret
  "ingress.snapshotKey.existingSecret" .Values.ingress.snapshotKey.existingSecret
  "quota.redis.existingSecret" .Values.quota.redis.existingSecret
  "tls.secret.name" (ternary .Values.tls.secret.name "" (eq .Values.tls.mode "secret"))
  "catalog.seed.tokenSecret" .Values.catalog.seed.tokenSecret }}
{{- range $key, $name := $named }}
{{- if and $name (not (hasKey $present $name)) }}
{{- fail (printf "%s names the Secret %s, which is not in the namespace %s: make it first" $key $name $.Release.Namespace) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
