{{/* Bundles of programs: whether there are any, and what the operator is told of them. */}}

{{/* Whether programs are started from bundles; empty if not. */}}
{{- define "hosted-bridge.bundles.used" -}}
{{- if and .Values.bundles.enabled .Values.store.enabled -}}true{{- end -}}
{{- end }}

{{- define "hosted-bridge.operator.bundles.args" -}}
{{- if include "hosted-bridge.bundles.used" . }}
- --bundles-url=https://hosted-bridge-store.$(POD_NAMESPACE).svc:8444
- --packer-image={{ include "hosted-bridge.image" (dict "root" . "name" "ingress" "image" .Values.ingress.image) }}
- --bundle-max-bytes={{ .Values.bundles.maxBytes | int64 }}
- --max-installs={{ .Values.bundles.maxInstalls }}
- --bundle-retention={{ .Values.bundles.retention }}
{{- with .Values.bundles.architecture }}
- --bundle-architecture={{ . }}
{{- end }}
{{- range .Values.bundles.installScripts }}
- {{ printf "--bundle-install-scripts=%s" . | quote }}
{{- end }}
{{- end }}
{{- end }}
