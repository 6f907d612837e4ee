{{/*
Namespaced mode: with watchNamespaces the processes see those namespaces and
their installation's own, and nothing that they are given holds for the cluster.
*/}}

{{/* Which namespaces a process has in view. */}}
{{- define "hosted-bridge.namespaces.args" -}}
{{- with .Values.watchNamespaces -}}
- --watch-namespaces={{ join "," . }}
{{- end }}
{{- end }}

{{- define "hosted-bridge.operator.namespaces.args" -}}
{{- include "hosted-bridge.namespaces.args" . }}
{{- end }}

{{- define "hosted-bridge.ingress.namespaces.args" -}}
{{- include "hosted-bridge.namespaces.args" . }}
{{- end }}

{{- define "hosted-bridge.keybroker.namespaces.args" -}}
{{- include "hosted-bridge.namespaces.args" . }}
{{- end }}

{{/* The namespace of the catalog. */}}
{{- define "hosted-bridge.namespaces.catalog" -}}
{{- ((.Values.catalog).namespace) | default .Release.Namespace }}
{{- end }}
