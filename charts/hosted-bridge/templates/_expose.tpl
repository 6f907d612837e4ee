{{/* How users come to the ingress. */}}

{{/*
Annotations with which ingress-nginx carries event streams and long calls; other
controllers ignore them. It goes on collecting requests, which are small: it sends
their length with them then, and keeps its connections. A body is at most what a
tier may allow.
*/}}
{{- define "hosted-bridge.expose.streaming.nginx" -}}
nginx.ingress.kubernetes.io/proxy-buffering: "off"
nginx.ingress.kubernetes.io/proxy-read-timeout: "3600"
nginx.ingress.kubernetes.io/proxy-send-timeout: "3600"
nginx.ingress.kubernetes.io/proxy-body-size: 16m
{{- if ne .Values.tls.mode "none" }}
nginx.ingress.kubernetes.io/backend-protocol: HTTPS
{{- end }}
{{- end }}

{{/* The annotations of the Ingress: the values' own go before. */}}
{{- define "hosted-bridge.expose.ingress.annotations" -}}
{{- toYaml (merge (deepCopy .Values.expose.ingress.annotations) (include "hosted-bridge.expose.streaming.nginx" . | fromYaml)) -}}
{{- end }}
