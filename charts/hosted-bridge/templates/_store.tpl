{{/* The store: one count of quotas and one audit index for all ingresses, and bundles. */}}

{{/* Whether ingresses count in it; empty if not. */}}
{{- define "hosted-bridge.store.counts" -}}
{{- if and .Values.store.enabled (not .Values.quota.redis.url) -}}true{{- end -}}
{{- end }}

{{/* Whether there is one; empty if not. */}}
{{- define "hosted-bridge.store.used" -}}
{{- if or (include "hosted-bridge.store.counts" .) (eq .Values.audit.index.type "store") (include "hosted-bridge.bundles.used" .) -}}true{{- end -}}
{{- end }}

{{/* Its URL in an ingress's flags. */}}
{{- define "hosted-bridge.store.url" -}}
https://hosted-bridge-store.$(POD_NAMESPACE).svc:8443
{{- end }}

{{/*
Whether it has a claim; empty if not. "auto" makes one unless the cluster says
that it would stay pending: it has no default StorageClass. Without a cluster to
ask, and in namespaced mode, in which an installer may not be allowed to read
StorageClasses, there is one.
*/}}
{{- define "hosted-bridge.store.claim" -}}
{{- $p := .Values.store.persistence -}}
{{- if ne (toString $p.enabled) "auto" -}}
{{- ternary "true" "" $p.enabled -}}
{{- else if or $p.storageClassName .Values.watchNamespaces -}}
true
{{- else -}}
{{- $claim := true -}}
{{- with lookup "storage.k8s.io/v1" "StorageClass" "" "" -}}
{{- $claim = false -}}
{{- range .items -}}
{{- if eq (get (.metadata.annotations | default dict) "storageclass.kubernetes.io/is-default-class") "true" -}}
{{- $claim = true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- ternary "true" "" $claim -}}
{{- end -}}
{{- end }}

{{- define "hosted-bridge.validate.store" -}}
{{- if and (eq .Values.audit.index.type "store") (not .Values.store.enabled) }}
{{- fail "audit.index.type is store, but store.enabled is false: set audit.index.type to sqlite, postgres or none, or enable the store" }}
{{- end }}
{{- end }}
