{{/* TLS of the ingress's own. */}}

{{- define "hosted-bridge.ingress.tls.args" }}{{ end }}
{{- define "hosted-bridge.ingress.tls.mounts" }}{{ end }}
{{- define "hosted-bridge.ingress.tls.volumes" }}{{ end }}
